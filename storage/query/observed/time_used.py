"""Units of an event by visit and application, from samples: CPU time, misses of the last-level cache."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, cast, func, select

from storage.arrays import Float, Int64
from storage.query.facts.visit_scan import TIME_UNIT, SampleType, campaign_of, sample_type_of
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import profile, visit
from storage.snapshots.copy_binary import read_fixed

_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class UnitsUsed:
    """Columns over pairs of a visit and an application; each pair occurs once."""

    visit: Int64
    """Place in the `MachineVisits` that they were read for."""
    application: Int64
    """Id of the dimension's value."""
    units: Float


@dataclass(frozen=True, slots=True)
class TimeUsed:
    """As `UnitsUsed`, in seconds of CPU time."""

    visit: Int64
    application: Int64
    seconds: Float


def read_time_used(
    connection: Connection,
    selection: Selection,
    visits: MachineVisits,
    days: tuple[date, date] | None = None,
) -> TimeUsed:
    """The CPU seconds of every application in these visits; empty if the event does not count time.

    `days` as in `read_units_used`.
    """
    kind = sample_type_of(connection, selection)
    if kind.unit != TIME_UNIT:
        none = np.zeros(0, np.int64)
        return TimeUsed(none, none, np.zeros(0))
    used = read_units_used(connection, selection, kind, visits, days)
    return TimeUsed(used.visit, used.application, used.units / 1e9)


def read_units_used(
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    visits: MachineVisits,
    days: tuple[date, date] | None = None,
) -> UnitsUsed:
    """The units of a sample type by application in these visits, or only in those of UTC `days`, first to last."""
    campaign_id = campaign_of(connection, selection)
    first, last = days or (selection.start.date(), selection.end.date())
    p, v = profile.c, visit.c
    units: Any = cast(func.sum(p.samples * p.period), BigInteger)
    rows = read_fixed(
        connection,
        select(p.visit_id, p.application, units.label("units"))
        .join(visit, v.visit_id == p.visit_id)
        .where(
            p.day >= first,
            p.day <= last,
            *visits.among,
            p.campaign_id == (-1 if campaign_id is None else campaign_id),
            p.sample_type_id == (-1 if kind.id is None else kind.id),
        )
        .group_by(p.visit_id, p.application),
        limit=_MAX_BYTES,
    )
    place = visits.places(rows.uuids("visit_id"))
    there = place >= 0
    return UnitsUsed(place[there], rows.ints("application")[there], rows.floats("units")[there])
