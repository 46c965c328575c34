"""How complete a stream is: running visits, captures that are not ingested yet, and open transactions."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select, text

from storage.schema import Outcome, capture, visit

SETTLED = timedelta(seconds=60)
"""A scheduled visit is inserted before its draw time, a manual one a moment after; a minute covers both."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """The time until which a campaign's data is final."""

    until: datetime
    """All visits drawn before this have ended, and are ingested or never will be."""
    waiting: int
    """Captures of the requested time range that are not ingested yet."""


def completeness(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> Completeness:
    """Completeness for a campaign's visits drawn in [start, end)."""
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
    """A moment, and the transactions that may still commit rows with an earlier one."""

    moment: datetime
    writers: frozenset[str]
    """Virtual transactions that were writing captures at that moment."""


def horizon(connection: Connection) -> Horizon:
    """The current horizon, for any transaction.

    Rows get their `ingested_at` or `archived_at` from the clock in a statement that already holds the lock on
    `capture`. So every transaction that can still commit an earlier moment holds that lock now. `CREATE INDEX
    CONCURRENTLY` finds the transactions to wait for in the same way.
    """
    moment = connection.execute(select(func.clock_timestamp())).scalar_one()
    return Horizon(moment, frozenset(_writers(connection)))


def settled(connection: Connection, seen: Horizon) -> bool:
    """Whether all transactions with earlier moments have committed or aborted."""
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
