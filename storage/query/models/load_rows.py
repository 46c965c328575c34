"""The load of machines by a label: from the operating system's times, and from counters if visits have them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimate import Estimates
from analysis.smt.fleet import of_both, of_cluster
from analysis.smt.machine import CountedLoad, MachineLoad
from analysis.weights import Weights
from storage.arrays import Int64
from storage.query.answers.figures import Interval
from storage.query.observed.machines import MachineVisits
from storage.snapshots import query_budget


@dataclass(frozen=True, slots=True)
class CountedRow:
    """The load of one value's machines by counters of cycles (DIGEST A2) and by times in the same visits; each 0…1."""

    apu: Interval
    thread_any: Interval
    overlap: Interval
    """Core-time with both threads busy."""
    utilisation: Interval
    """Utilisation of threads, by cycles."""
    system_apu: Interval
    system_overlap: Interval
    largest_disagreement: float
    """Largest difference of one machine's overlap between the two ways."""
    visits: int


@dataclass(frozen=True, slots=True)
class LoadRow:
    """The load of one value's machines, each measure as a share of core-time, 0…1."""

    value: str
    utilisation: Interval
    """Utilisation of logical CPUs, as monitoring shows it."""
    thread_any: Interval
    """Core-time with any thread busy."""
    apu: Interval
    simplified: Interval
    """APU from each core's mean utilisation alone."""
    counted: CountedRow | None
    """None: no visit has cycles of its cores."""
    low_confidence: bool
    visits: int
    machines: int


def load_rows(
    visits: MachineVisits,
    loads: Sequence[MachineLoad],
    counted: Sequence[CountedLoad | None],
    label: str,
) -> tuple[LoadRow, ...]:
    """A row for each value, by descending core-time; `loads` and `counted` have an entry for each of these visits."""
    rows: list[tuple[float, LoadRow]] = []
    weights = visits.weights
    if weights is None:
        raise TypeError("visits without weights have no estimates")
    cores = np.array([load.cores for load in loads])
    for number, name in enumerate(visits.names[label]):
        query_budget.checkpoint()
        here = np.flatnonzero((visits.values[label] == number) & (visits.group >= 0))
        if not len(here):
            continue
        found = of_cluster(
            visits.weight[here],
            visits.group[here],
            weights,
            loads=[loads[place] for place in here.tolist()],
            seconds=visits.seconds[here],
        )
        row = LoadRow(
            value=name,
            utilisation=_interval(found.utilisation),
            thread_any=_interval(found.thread_any),
            apu=_interval(found.apu),
            simplified=_interval(found.simplified),
            counted=_counted(visits, here, weights, loads, counted),
            low_confidence=bool(found.apu.low_confidence[0]),
            visits=len(here),
            machines=len(np.unique(visits.values["machine"][here])),
        )
        rows.append((float((cores[here] * visits.seconds[here] * visits.weight[here]).sum()), row))
    rows.sort(key=lambda item: (-item[0], item[1].value))
    return tuple(row for _, row in rows)


def _counted(
    visits: MachineVisits,
    here: Int64,
    weights: Weights,
    loads: Sequence[MachineLoad],
    counted: Sequence[CountedLoad | None],
) -> CountedRow | None:
    """Both loads, for the visits that have both; None: there are none."""
    both = [(place, load) for place in here.tolist() if (load := counted[place]) is not None]
    if not both:
        return None
    at = np.array([place for place, _ in both], np.int64)
    found = of_both(
        visits.weight[at],
        visits.group[at],
        weights,
        counted=[load for _, load in both],
        system=[loads[place] for place, _ in both],
        seconds=visits.seconds[at],
    )
    return CountedRow(
        apu=_interval(found.apu),
        thread_any=_interval(found.thread_any),
        overlap=_interval(found.overlap),
        utilisation=_interval(found.utilisation),
        system_apu=_interval(found.system_apu),
        system_overlap=_interval(found.system_overlap),
        largest_disagreement=found.largest_disagreement,
        visits=found.visits,
    )


def _interval(found: Estimates) -> Interval:
    return Interval(float(found.value[0]), float(found.lo[0]), float(found.hi[0]))
