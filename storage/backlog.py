"""How far ingestion is behind visiting: PostgreSQL's own account, whatever the broker holds.

Captures that are reprocessed for better symbols are no backlog: they wait on purpose. Nor are those that were
quarantined and that somebody has tried again: they are as old as they are whatever the load.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, select

from storage.schema import capture

_COUNTED = 100_000
"""Waiting captures are counted up to this many."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits to be ingested for the first time, as it came."""

    waiting: int
    """Captures that no worker has tried yet; at most 100 000 are counted."""
    oldest_s: float
    """How long the one waits that waits longest; 0 when none does."""


NONE = Backlog(0, 0.0)


def read_backlog(connection: Connection) -> Backlog:
    """The captures that no worker has tried; not those that failed and rest, whose number workers do not change."""
    c = capture.c
    # `ingested < wanted` says nothing new here, but the index of those that wait is of captures for which it is true.
    untried = and_(
        c.ingested == 0, c.ingested < c.wanted, c.quarantined.is_(None), c.wanted == 1, c.attempts == 0
    )
    oldest = connection.execute(
        select(func.extract("epoch", func.clock_timestamp() - c.archived_at))
        .where(untried)
        .order_by(c.archived_at)
        .limit(1)
    ).scalar()
    if oldest is None:
        return NONE
    some = select(c.visit_id).where(untried).limit(_COUNTED).subquery()
    waiting = connection.execute(select(func.count()).select_from(some)).scalar_one()
    return Backlog(waiting, max(float(oldest), 0.0))
