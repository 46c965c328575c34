"""CPU time by samples: what each application took in each visit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, cast, func, select

from storage.query.arrays import Float, Int64
from storage.query.copy_binary import read_fixed
from storage.query.facts.scan import TIME_UNIT, campaign_of, sample_type_of
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import profile, visit

_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class TimeUsed:
    """Columns over pairs of a visit and an application, each once."""

    visit: Int64
    """Place in the `MachineVisits` they were read for."""
    application: Int64
    """Id of the dimension's value."""
    seconds: Float


def read_time_used(connection: Connection, selection: Selection, visits: MachineVisits) -> TimeUsed:
    """The CPU seconds of every application in these visits; nothing for an event that counts no time."""
    kind, campaign_id = sample_type_of(connection, selection), campaign_of(connection, selection)
    none = np.zeros(0, np.int64)
    if kind.id is None or campaign_id is None or kind.unit != TIME_UNIT:
        return TimeUsed(none, none, np.zeros(0))
    p, v = profile.c, visit.c
    units: Any = cast(func.sum(p.samples * p.period), BigInteger)
    rows = read_fixed(
        connection,
        select(p.visit_id, p.application, units.label("units"))
        .join(visit, v.visit_id == p.visit_id)
        .where(
            p.day >= selection.start.date(),
            p.day <= selection.end.date(),
            v.drawn_at >= selection.start,
            v.drawn_at < selection.end,
            p.campaign_id == campaign_id,
            p.sample_type_id == kind.id,
        )
        .group_by(p.visit_id, p.application),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    there = place >= 0
    return TimeUsed(place[there], rows.ints("application")[there], rows.floats("units")[there] / 1e9)
