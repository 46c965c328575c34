"""Unfinished visits: under way, or in the archive and not ingested yet.

A failed visit is finished, and so is one whose capture was quarantined: it is not tried again.
"""

from datetime import datetime

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, DateTime, and_, bindparam, exists, false, func, or_, select, union_all

from storage.schema import BY_HAND, Outcome, capture, visit
from storage.snapshots.copy_binary import read_fixed

_MAX_BYTES = 256 << 20
_UNDER_WAY = visit.c.outcome == Outcome.DRAWN
_ARCHIVED = and_(  # as in the partial index: there are few among all captures
    capture.c.ingested == 0,
    capture.c.ingested < capture.c.wanted,
    capture.c.quarantined.is_(None),
    capture.c.expired == false(),
)
SOME_WAIT = or_(
    exists(select(visit.c.visit_id).where(_UNDER_WAY)), exists(select(capture.c.visit_id).where(_ARCHIVED))
)
"""Whether any visit waits, of any campaign and time."""
_OPEN = union_all(
    select(visit.c.visit_id).where(_UNDER_WAY), select(capture.c.visit_id).where(_ARCHIVED)
).subquery()
_WAITING = select(visit.c.visit_id).where(
    visit.c.visit_id.in_(select(_OPEN.c.visit_id)),
    visit.c.campaign_id == bindparam("campaign"),
    visit.c.drawn_at >= bindparam("start", type_=DateTime(timezone=True)),
    visit.c.drawn_at < bindparam("end", type_=DateTime(timezone=True)),
    visit.c.round != BY_HAND,
)
_COUNT = select(func.count()).select_from(_WAITING.subquery())


def read_waiting(
    connection: Connection, campaign_id: int, start: datetime, end: datetime
) -> npt.NDArray[np.bytes_]:
    """The waiting visits drawn at random in [start, end), in this snapshot, ascending."""
    asked = {"campaign": campaign_id, "start": start, "end": end}
    return np.sort(read_fixed(connection, _WAITING, asked, limit=_MAX_BYTES).uuids("visit_id"))


def count_waiting(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> int:
    """The number of visits that `read_waiting` would read."""
    asked = {"campaign": campaign_id, "start": start, "end": end}
    return int(connection.execute(_COUNT, asked).scalar_one())
