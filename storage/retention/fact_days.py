"""Deletes facts by day, the oldest first, once they are merged into cells."""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, delete, func, select

from storage import partitions
from storage.schema import rollup_queue, rollup_retraction


@dataclass(frozen=True, slots=True)
class OldDay:
    """The outcome for the oldest day of facts."""

    day: date
    dropped: bool
    waiting: int
    """Queue entries of the day that are not merged into cells: why it stays, or what cells will always lack."""


def drop_oldest(connection: Connection, before: date, *, hopeless: date) -> OldDay | None:
    """Drop the oldest day of facts if it is before `before` and merged; None: there is no such day.

    A day with entries in the queue stays, and so do all later days, since ingestion treats a missing day before an
    existing one as dropped. A day before `hopeless` is dropped in any case, so that a queue that is not processed
    cannot fill the disk. Raises `DatabaseBusy` if readers or ingestions hold locks.
    """
    day = partitions.oldest(connection)
    if day is None or day >= before:
        return None
    if day >= hopeless and (waiting := _waiting(connection, day)):
        return OldDay(day, dropped=False, waiting=waiting)
    # From here on nothing is ingested, and everything ingested before is visible in the queue.
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
