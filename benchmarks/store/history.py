"""A month of visits before the days that are landed: spread over its hours as a fleet's rounds are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from benchmarks.store.database import FIRST_HOUR, HISTORY_DAYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.store.bulk import BulkVisit
    from benchmarks.store.vocabulary import Ints

VERSIONS: Final = 5
HOURS: Final = 24 * HISTORY_DAYS
BEGIN: Final = FIRST_HOUR - HOURS
"""Its first hour since 1970."""


def spread(visits: Sequence[BulkVisit]) -> list[BulkVisit]:
    """The visits, as many in each hour of the month."""
    return [replace(visit, hour=BEGIN + number * HOURS // len(visits)) for number, visit in enumerate(visits)]


def with_versions(visits: Sequence[BulkVisit], versions: Ints) -> list[BulkVisit]:
    """The visits, every machine with one of the versions of everything it runs."""
    return [replace(visit, version=int(versions[visit.machine % VERSIONS])) for visit in visits]
