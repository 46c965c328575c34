"""When a selection's visits were drawn, and which of its hours the campaign covered."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, Double, cast, func, select

from storage.query.arrays import Bool, Float
from storage.query.copy_binary import read_fixed
from storage.query.weighing.design import Ids
from storage.query.weighing.kept import facts_from
from storage.query.weighing.strata import CoveredHours, read_covered
from storage.schema import visit
from storage.visits import BY_HAND

_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class VisitTimes:
    """Columns over all visits of a selection's time and campaign, whatever came of them, by ascending id."""

    id: Ids
    drawn_at: Float
    """Seconds since 1970."""
    at_random: Bool
    """Else by hand."""
    covered: CoveredHours | None
    """None: the campaign has never drawn anyone at random."""

    def of(self, visits: Ids) -> Float:
        """When these, all among them, were drawn."""
        return self.drawn_at[np.searchsorted(self.id, visits)]


def read_visit_times(
    connection: Connection, campaign_id: int | None, start: datetime, end: datetime
) -> VisitTimes:
    """The visits drawn in [start, end), by the snapshot; `campaign_id` None: a campaign that has not begun."""
    if campaign_id is None:
        return VisitTimes(np.zeros(0, "S16"), np.zeros(0), np.zeros(0, np.bool_), None)
    c = visit.c
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            cast(func.date_part("epoch", c.drawn_at), Double).label("drawn_at"),
            (c.round != BY_HAND).label("at_random"),
        ).where(c.campaign_id == campaign_id, c.drawn_at >= start, c.drawn_at < end),
        limit=_MAX_BYTES,
    )
    ids = rows.uuids("visit_id")
    order = np.argsort(ids)
    return VisitTimes(
        ids[order],
        rows.floats("drawn_at")[order],
        np.array(rows.values("at_random"), np.bool_)[order],
        # Time whose facts are gone is not covered: its visits would look like idle machines.
        read_covered(connection, campaign_id, min(max(start, facts_from(connection)), end), end),
    )
