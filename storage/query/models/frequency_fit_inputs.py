"""Reads the inputs of the frequency fit: three counters read together, by visit and application."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Float, Int64, distinct, weight_at
from storage.query.answers.inputs import Inputs
from storage.query.facts.selection_echo import inputs_of
from storage.query.models.ratios import Derived, named_pairs
from storage.query.observed.counters import Counters, Pairs, read_failures
from storage.query.observed.cpus import Sockets, read_sockets
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

CYCLES, INSTRUCTIONS, TASK_CLOCK = "cycles", "instructions", "task-clock"
_CYCLES = Derived(CYCLES, INSTRUCTIONS, 1.0, "")
_TIME = Derived(TASK_CLOCK, INSTRUCTIONS, 1.0, "")
_GHZ = (0.1, 10.0)
"""Cycles per ns of CPU time outside this range are no real frequency. One such visit would dominate a fit in 1/f."""
_NO_CLOCK = "cycles over CPU time is outside 100 to 10,000 MHz, or instructions are 0"


@dataclass(frozen=True, slots=True)
class FitInputs:
    """Columns over pairs of a visit and an application, and over visits."""

    visits: MachineVisits
    load: Float
    """For each visit, the busy share of all logical CPUs, 0…1, and the number of busy ones per socket; (V, 2)."""
    visit: Int64
    """Place of each pair's visit."""
    application: Int64
    """Index of its name in `names`: a week of ten thousand machines has millions of pairs."""
    names: tuple[str, ...]
    """Names of applications, sorted."""
    seconds: Float
    """CPU time in which the next two were counted; each > 0."""
    cycles: Float
    instructions: Float
    inputs: Inputs
    left_out: Mapping[str, int]
    """Unusable visits, by cause, and visits with some applications left out."""


def read_fit_inputs(reading: StoreReading, selection: Selection) -> FitInputs:
    """The inputs of a selection. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
    connection = reading.connection
    visits = read_machine_visits(connection, selection)
    counters = Counters(connection, selection, visits)
    found, named = named_pairs(reading, selection, counters, _CYCLES, by_application=True)
    clock, _ = named_pairs(reading, selection, counters, _TIME, by_application=True)
    there = np.zeros(len(visits), np.bool_)
    there[found.visit] = True
    found, clock = counted_together(found, clock)
    together, clocked, partly = (np.zeros(len(visits), np.bool_) for _ in range(3))
    together[found.visit] = True
    real = plausible(found, clock)
    partly[found.visit[~real]] = True
    found, clock = found.of(real), clock.of(real)
    clocked[found.visit] = True
    load = load_of(read_sockets(connection, selection, visits), len(visits))
    why = np.full(len(visits), "", "U100")
    for reason, lacking in (
        ("cycles and instructions of no application were counted", ~there),
        ("CPU time was not counted with them", ~together),
        (f"for all its applications, {_NO_CLOCK}", ~clocked),
        ("the busy time of its CPUs is unknown", ~np.isfinite(load).all(axis=1)),
        ("it has no weight", visits.group < 0),
    ):
        why[lacking & (why == "")] = reason
    usable = why == ""
    left_out = {reason: int((why == reason).sum()) for reason in np.unique(why[~usable]).tolist()}
    if (partly & usable).any():
        left_out[f"only for some of its applications, which are left out, {_NO_CLOCK}"] = int(
            (partly & usable).sum()
        )
    keep = usable[found.visit]
    found, clock = found.of(keep), clock.of(keep)
    ids, of = distinct(found.application)
    called = [named[id_] for id_ in ids.tolist()]
    names = tuple(sorted(set(called)))
    number = {name: place for place, name in enumerate(names)}
    return FitInputs(
        visits=visits,
        load=load,
        visit=found.visit,
        application=np.array([number[name] for name in called], np.int64)[of],
        names=names,
        seconds=clock.y / 1e9,
        cycles=found.y,
        instructions=found.x,
        inputs=inputs_of(
            visits.coverage,
            len(visits),
            int(usable.sum()),
            read_failures(connection, selection, visits, (CYCLES, INSTRUCTIONS)),
        ),
        left_out=left_out,
    )


def load_of(sockets: Sockets, visits: int) -> Float:
    """The busy share of logical CPUs (threads share cores), and busy CPUs per socket (they share caches and memory).

    NaN if unknown; (V, 2). CPUs of unknown sockets count as one socket.
    """
    busy, cpus = (
        weight_at(sockets.visit, each.astype(np.float64), visits) for each in (sockets.busy, sockets.cpus)
    )
    counts = np.stack([cpus, np.bincount(sockets.visit, minlength=visits)], axis=1)
    found: Float = np.divide(busy[:, None], counts, out=np.full((visits, 2), np.nan), where=counts > 0)
    return found


def counted_together(cycles: Pairs, clock: Pairs) -> tuple[Pairs, Pairs]:
    """Cycles and CPU time, each over instructions, of visits and applications with the same instructions in both.

    If instructions differ, one has readings that the other has not. Applications that did not run (all three are 0) are
    left out too.
    """
    ours, theirs = (_keys(each) for each in (cycles, clock))
    _, one, other = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
    same: Bool = cycles.x[one] == clock.x[other]
    ran = (cycles.x[one] > 0) | (cycles.y[one] > 0) | (clock.y[other] > 0)
    keep = same & ran
    return _at(cycles, one[keep]), _at(clock, other[keep])


def plausible(cycles: Pairs, clock: Pairs) -> Bool:
    """Marks pairs of `counted_together` with a possible frequency and at least one instruction."""
    ghz = np.divide(cycles.y, clock.y, out=np.zeros(len(cycles.y)), where=clock.y > 0)
    least, most = _GHZ
    found: Bool = (cycles.x > 0) & (ghz >= least) & (ghz <= most)
    return found


def _at(pairs: Pairs, places: Int64) -> Pairs:
    return Pairs(pairs.visit[places], pairs.application[places], pairs.y[places], pairs.x[places])


def _keys(pairs: Pairs) -> Int64:
    keys: Int64 = (pairs.visit << 32) | pairs.application
    return keys
