"""From when on there are facts: cells, visits and coverage are kept longer than the chunks (storage/retention/README.md)."""

from datetime import UTC, date, datetime, time

from sqlalchemy import Connection, func, select

from storage import partitions
from storage.query.remembered import once_a_snapshot
from storage.schema import coverage

Span = tuple[datetime, datetime]
"""Beginning and end of a stretch of time."""

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@once_a_snapshot
def facts_from(connection: Connection) -> datetime:
    """The midnight from which on there are chunks, by the snapshot; before it there are cells at most."""
    oldest = partitions.oldest(connection)
    return _ALWAYS if oldest is None else datetime.combine(oldest, time(), UTC)


@once_a_snapshot
def cells_from(connection: Connection) -> datetime:
    """The midnight from which on there are cells and coverage, by the snapshot."""
    oldest: date | None = connection.scalar(select(func.min(coverage.c.day)))
    return _ALWAYS if oldest is None else datetime.combine(oldest, time(), UTC)


def not_kept(start: datetime, end: datetime, kept: datetime) -> tuple[Span, ...]:
    """The part of [start, end) before `kept`."""
    return ((start, min(kept, end)),) if start < min(kept, end) else ()


def midnight(moment: datetime) -> datetime:
    """The beginning of a moment's UTC day."""
    return datetime.combine(moment.astimezone(UTC).date(), time(), UTC)
