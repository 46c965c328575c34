"""What a stream cannot have seen yet: visits that are under way, captures that wait, commits that are to come."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select, text

from storage.schema import Outcome, capture, visit

SETTLED = timedelta(seconds=60)
"""A draw is in the database before its moment, by hand a moment after; a minute is more than either needs."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How far back a campaign is as complete as it will be."""

    until: datetime
    """All visits drawn before have ended, and are ingested or never will be."""
    waiting: int
    """Captures of the time asked for that wait to be ingested."""


def completeness(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> Completeness:
    """Of the visits of a campaign drawn in [start, end)."""
    mine = (visit.c.campaign_id == campaign_id, visit.c.drawn_at >= start, visit.c.drawn_at < end)
    open_ = select(func.min(visit.c.drawn_at)).where(*mine, visit.c.outcome == Outcome.DRAWN)
    waits = (capture.c.ingested == 0, capture.c.ingested < capture.c.wanted, capture.c.quarantined.is_(None))
    waiting = (
        select(func.min(visit.c.drawn_at), func.count())
        .join(capture, capture.c.visit_id == visit.c.visit_id)
        .where(*mine, *waits)
    )
    first_open: datetime | None = connection.scalar(open_)
    first_waiting, count = connection.execute(waiting).one()
    now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    moments = [first_open, first_waiting, now - SETTLED, end]
    return Completeness(min(moment for moment in moments if moment is not None), count)


@dataclass(frozen=True, slots=True)
class Horizon:
    """A moment, and who might still commit something that carries an earlier one."""

    moment: datetime
    writers: frozenset[str]
    """Virtual transactions that were writing captures then."""


def horizon(connection: Connection) -> Horizon:
    """The present one, for any transaction.

    Rows get their `ingested_at` or `archived_at` from the clock in a statement that holds the lock on `capture`
    already. So whoever can still bring an earlier moment than this one holds that lock now, as
    `CREATE INDEX CONCURRENTLY` finds whom it has to wait for.
    """
    moment = connection.execute(select(func.clock_timestamp())).scalar_one()
    return Horizon(moment, frozenset(_writers(connection)))


def settled(connection: Connection, seen: Horizon) -> bool:
    """Whether all that carries an earlier moment is committed, or never will be."""
    return not seen.writers or seen.writers.isdisjoint(_writers(connection))


def _writers(connection: Connection) -> list[str]:
    rows = connection.execute(
        text(
            "SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted"
            " AND mode = 'RowExclusiveLock' AND relation = CAST(:name AS regclass)"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND pid <> pg_backend_pid()"
        ),
        {"name": capture.name},
    )
    return list(rows.scalars())
