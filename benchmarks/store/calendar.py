"""Dates of a synthetic history: it ends with a bucket of 16 days, so the store's shape does not depend on the date.

The bucket of 16 days is the second or third of its 64: a sparse month before its end fills two of them and never all of
64. Compaction runs as of two days after the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

MONTH_DAYS: Final = 30
_BUCKET_DAYS: Final = 16
_CLOSED_AFTER: Final = timedelta(hours=49)


@dataclass(frozen=True)
class Calendar:
    """A history that ends with the day `last`; captures ingested during questions belong to the next day."""

    last: date

    @property
    def end_hour(self) -> int:
        """The hour since 1970 at which the history ends."""
        return _days(self.last + timedelta(days=1)) * 24

    @property
    def closed_at(self) -> datetime:
        """Time at which all its days can be rolled up and compacted."""
        return datetime.fromtimestamp(3600 * self.end_hour, UTC) + _CLOSED_AFTER

    @property
    def days(self) -> list[date]:
        """All days that may have facts."""
        return [self.last - timedelta(days=n) for n in range(-1, MONTH_DAYS)]


def latest(now: datetime) -> Calendar:
    """The last such history that is closed at `now`."""
    last = now.date() - timedelta(days=4)
    while (_days(last) + 1) % _BUCKET_DAYS or _days(last) // _BUCKET_DAYS % 4 not in {1, 2}:
        last -= timedelta(days=1)
    return Calendar(last)


def _days(day: date) -> int:
    return (day - date(1970, 1, 1)).days
