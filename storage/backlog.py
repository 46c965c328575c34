"""The ingestion backlog by PostgreSQL's rows, independent of the broker.

Captures to be reprocessed for better symbols are not counted: they wait on purpose. Neither are retries of quarantined
captures: their age does not depend on the load.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, select

from storage.schema import capture

_COUNTED = 100_000
"""Maximum count of waiting captures."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """Captures that wait for their first ingestion."""

    waiting: int
    """Captures that no worker has tried yet; counted up to 100 000."""
    oldest_s: float
    """Waiting time of the oldest; 0 if there is none."""


NONE = Backlog(0, 0.0)


def read_backlog(connection: Connection) -> Backlog:
    """The untried captures; failed ones that rest are excluded, since more workers would not reduce their number."""
    c = capture.c
    # `ingested < wanted` is implied, but the partial index of waiting captures requires it.
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
