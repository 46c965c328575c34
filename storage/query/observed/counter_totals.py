"""Counters of whole machines by visit, summed over sockets (docs/events.md)."""

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, func, select

from storage.arrays import Float
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_counter, visit
from storage.snapshots.copy_binary import read_fixed

_MAX_BYTES = 256 << 20
_NOT_COUNTED = -1.0


def read_totals(
    connection: Connection, selection: Selection, visits: MachineVisits, names: Sequence[str]
) -> Mapping[str, Float]:
    """Each counter's sum over every visit's window, in the counter's unit; NaN if the counter is incomplete.

    A counter that failed on a socket has no sum: that of the other sockets would look like the machine's.
    """
    c = capture_counter.c
    found: dict[str, Float] = {}
    for name in names:
        rows = read_fixed(
            connection,
            select(c.visit_id, func.coalesce(c.scaled, _NOT_COUNTED).label("scaled"))
            .join(visit, visit.c.visit_id == c.visit_id)
            .where(
                c.day >= selection.start.date(),
                c.day <= selection.end.date(),
                *visits.among,
                c.name == name,
                c.application == 0,
                c.cgroup == "",
            ),
            limit=_MAX_BYTES,
        )
        place = visits.places(rows.uuids("visit_id"))
        there = place >= 0
        total = np.full(len(visits), np.nan)
        total[place[there]] = 0.0
        scaled = rows.floats("scaled")[there]
        np.add.at(total, place[there], np.where(scaled >= 0, scaled, np.nan))
        found[name] = total
    return found
