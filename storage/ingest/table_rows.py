"""Rows to be written to tables, and the facts about their visit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Table


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """Properties from the rows of the visit and its stratum that do not change after the draw."""

    visit_id: UUID
    day: date
    """Fixed at the draw, as are the hour and the stratum."""
    hour: int
    campaign_id: int
    stratum_id: int
    machine_id: int
    datacenter: str
    cluster: str
    platform: str
    """The stratum's; a platform in the capture takes precedence."""
    kernel: str
    """The inventory's at the draw, as is the cluster; a kernel in the capture takes precedence."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one table, with fields in the order of `columns`."""

    table: Table
    columns: Sequence[str]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *values: Any) -> None:
        """Append a row."""
        self.rows.append(values)
