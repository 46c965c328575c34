"""What the fit to several frequencies is fed with, out of the store: by visit and application, three counters of the same moments."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.query.arrays import Bool, Float, Int64, weight_at
from storage.query.models.ratios import Derived, named_pairs
from storage.query.models.told import Inputs
from storage.query.observed.counters import Counters, Pairs, read_failures
from storage.query.observed.cpus import LogicalCpus, read_cpus
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.reader import Reading
from storage.query.selections.selection import Selection

CYCLES, INSTRUCTIONS, TASK_CLOCK = "cycles", "instructions", "task-clock"
_CYCLES = Derived(CYCLES, INSTRUCTIONS, 1.0, "")
_TIME = Derived(TASK_CLOCK, INSTRUCTIONS, 1.0, "")


@dataclass(frozen=True, slots=True)
class FitInputs:
    """Columns over pairs of a visit and an application, and over visits."""

    visits: MachineVisits
    load: Float
    """Of each visit the busy share of all logical CPUs, 0…1, and how many are busy on a socket; (V, 2)."""
    visit: Int64
    """Place of each pair's visit."""
    application: npt.NDArray[np.str_]
    seconds: Float
    """CPU time, in which the next two were counted; each > 0."""
    cycles: Float
    instructions: Float
    inputs: Inputs
    left_out: Mapping[str, int]
    """Visits that say nothing of it, by why."""


def read_fit_inputs(reading: Reading, selection: Selection) -> FitInputs:
    """The inputs of a selection. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
    connection = reading.connection
    visits = read_machine_visits(connection, selection)
    counters = Counters(connection, selection, visits)
    found, named = named_pairs(reading, selection, counters, _CYCLES, by_application=True)
    clock, _ = named_pairs(reading, selection, counters, _TIME, by_application=True)
    there = np.zeros(len(visits), np.bool_)
    there[found.visit] = True
    found, clock = counted_together(found, clock)
    together = np.zeros(len(visits), np.bool_)
    together[found.visit] = True
    load = load_of(read_cpus(connection, selection, visits), len(visits))
    why = np.full(len(visits), "", "U100")
    for reason, lacking in (
        ("cycles and instructions of no application were counted", ~there),
        ("CPU time was not counted with them", ~together),
        ("how busy its CPUs were is not known", ~np.isfinite(load).all(axis=1)),
        ("it stands for nothing", visits.group < 0),
    ):
        why[lacking & (why == "")] = reason
    usable = why == ""
    keep = usable[found.visit]
    found, clock = found.of(keep), clock.of(keep)
    ids = np.array(sorted(named) or [0], np.int64)
    names = np.array([named.get(id_, "") for id_ in ids.tolist()], np.str_)
    return FitInputs(
        visits=visits,
        load=load,
        visit=found.visit,
        application=names[np.searchsorted(ids, found.application)],
        seconds=clock.y / 1e9,
        cycles=found.y,
        instructions=found.x,
        inputs=Inputs(
            visits.coverage,
            len(visits),
            int(usable.sum()),
            read_failures(connection, selection, visits, (CYCLES, INSTRUCTIONS)),
        ),
        left_out={reason: int((why == reason).sum()) for reason in np.unique(why[~usable]).tolist()},
    )


def load_of(cpus: LogicalCpus, visits: int) -> Float:
    """Busy share of the logical CPUs, by which threads share cores, and busy CPUs per socket, by which all share caches and memory.

    NaN where not known; (V, 2). A socket that nobody knows is one.
    """
    shares = np.divide(cpus.busy_s, cpus.window_s, out=np.zeros(len(cpus)), where=cpus.window_s > 0)
    busy = weight_at(cpus.visit, shares, visits)
    sockets = np.unique((cpus.visit << 32) | (cpus.package + 1)) >> 32
    counts = np.stack([np.bincount(of, minlength=visits) for of in (cpus.visit, sockets)], axis=1)
    found: Float = np.divide(busy[:, None], counts, out=np.full((visits, 2), np.nan), where=counts > 0)
    return found


def counted_together(cycles: Pairs, clock: Pairs) -> tuple[Pairs, Pairs]:
    """Cycles and CPU time, each over instructions, of visits and applications with the same instructions beside both.

    Where these differ, one has readings that the other has not. Pairs without any of the three are left out too.
    """
    ours, theirs = (_keys(each) for each in (cycles, clock))
    _, one, other = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    same: Bool = cycles.x[one] == clock.x[other]
    some = (cycles.x[one] > 0) & (cycles.y[one] > 0) & (clock.y[other] > 0)
    keep = same & some
    return _at(cycles, one[keep]), _at(clock, other[keep])


def _at(pairs: Pairs, places: Int64) -> Pairs:
    return Pairs(pairs.visit[places], pairs.application[places], pairs.y[places], pairs.x[places])


def _keys(pairs: Pairs) -> Int64:
    keys: Int64 = (pairs.visit << 32) | pairs.application
    return keys
