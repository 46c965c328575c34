"""From when on there are facts: cells, visits and coverage are kept longer than the chunks (storage/retention/README.md)."""

from datetime import UTC, datetime, time

from sqlalchemy import Connection

from storage import partitions
from storage.query.remembered import once_a_snapshot

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@once_a_snapshot
def facts_from(connection: Connection) -> datetime:
    """The midnight from which on there are chunks, by the snapshot; before it there are cells at most."""
    oldest = partitions.oldest(connection)
    return _ALWAYS if oldest is None else datetime.combine(oldest, time(), UTC)


def midnight(moment: datetime) -> datetime:
    """The beginning of a moment's UTC day."""
    return datetime.combine(moment.astimezone(UTC).date(), time(), UTC)
