"""Rows on their way into tables, and what ingestion knows of the visit they belong to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Table


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """What ingestion takes from the rows of the visit and its stratum; nothing that may change after the draw."""

    visit_id: UUID
    day: date
    """Fixed at the draw, like the hour and the stratum."""
    hour: int
    campaign_id: int
    stratum_id: int
    machine_id: int
    datacenter: str
    cluster: str
    platform: str
    """The stratum's; a capture that names its own knows better."""
    kernel: str
    """The inventory's at the draw, like the cluster; likewise."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one table, their fields in the order of `columns`."""

    table: Table
    columns: Sequence[str]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *values: Any) -> None:
        """Append a row."""
        self.rows.append(values)
