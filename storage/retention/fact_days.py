"""Facts go by day, the oldest first, once cells hold them."""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, delete, func, select

from storage import partitions
from storage.schema import rollup_queue, rollup_retraction


@dataclass(frozen=True, slots=True)
class OldDay:
    """What became of the oldest day of facts."""

    day: date
    dropped: bool
    waiting: int
    """Entries of the day not merged into cells: why it stays, or what cells will never know of it."""


def drop_oldest(connection: Connection, before: date, *, hopeless: date) -> OldDay | None:
    """Drop the oldest day of facts if it is before `before` and merged; None: there is no such day.

    A day with entries in the queue stays, and all later ones with it: ingestion takes a missing day
    before all others for a dropped one. Before `hopeless` a day goes in any case: a queue that nobody
    empties must not fill the disk. Raises `DatabaseBusy` when readers or ingestions are in the way.
    """
    day = partitions.oldest(connection)
    if day is None or day >= before:
        return None
    if day >= hopeless and (waiting := _waiting(connection, day)):
        return OldDay(day, dropped=False, waiting=waiting)
    # From here on nothing is ingested; what was ingested until now is in the queue for all to see.
    partitions.lock(connection)
    waiting = _waiting(connection, day)
    if waiting and day >= hopeless:
        return OldDay(day, dropped=False, waiting=waiting)
    if waiting:
        entries = select(rollup_queue.c.entry_id).where(rollup_queue.c.day == day)
        connection.execute(delete(rollup_retraction).where(rollup_retraction.c.entry_id.in_(entries)))
        connection.execute(delete(rollup_queue).where(rollup_queue.c.day == day))
    partitions.drop(connection, day + timedelta(days=1))
    return OldDay(day, dropped=True, waiting=waiting)


def _waiting(connection: Connection, day: date) -> int:
    return connection.execute(
        select(func.count()).select_from(rollup_queue).where(rollup_queue.c.day == day)
    ).scalar_one()
