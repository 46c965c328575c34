"""APU of clusters and of applications, from visits (DIGEST A2–A5 over many machines).

A cluster's APU is the used core-time of its machines over all their core-time: a ratio of sums with visits as clusters.
An application has no cores of its own. It is assigned a part of each machine's used core-time in proportion to its part
of the machine's CPU time, so that all applications of a machine add up to the machine's use. This is also the basis for
charging by use (DIGEST A9).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis import estimate, moments
from analysis.arrays import Float, Int
from analysis.errors import BadShape
from analysis.estimate import Estimates
from analysis.input_checks import enough, numbers, positives
from analysis.ratios import Ratios, of_sums
from analysis.smt.machine import CountedLoad, MachineLoad
from analysis.smt.states import joined, largest_disagreement
from analysis.weights import Weights


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """Four measures of the load of a set of machines, each an estimate of one row, 0…1, of core-time."""

    utilisation: Estimates
    thread_any: Estimates
    apu: Estimates
    simplified: Estimates
    visits: int


def of_cluster(
    weight: Float, group: Int, weights: Weights, *, loads: list[MachineLoad], seconds: Float
) -> ClusterLoad:
    """The load of a set of machines from visits that watched them for `seconds`; one entry per visit each.

    Raises InsufficientData without a visit, NotANumber, BadShape.
    """
    if not len(weight) == len(group) == len(loads) == len(seconds):
        raise BadShape("Visits need a weight, a group, a load and seconds each.")
    enough("visits", len(loads), 1)
    utilisation, thread_any, apu, simplified = _of_core_time(
        weight,
        group,
        weights,
        core_s=np.array([load.cores for load in loads]) * positives("seconds watched", seconds),
        measures=np.array([[load.utilisation, load.thread_any, load.apu, load.simplified] for load in loads]),
    )
    return ClusterLoad(utilisation, thread_any, apu, simplified, visits=len(loads))


@dataclass(frozen=True, slots=True)
class BothWays:
    """A set of machines by their counters (DIGEST A2), and by their operating systems (A3) in the same visits."""

    apu: Estimates
    thread_any: Estimates
    overlap: Estimates
    utilisation: Estimates
    """Of threads, by cycles."""
    system_apu: Estimates
    system_overlap: Estimates
    largest_disagreement: float
    """Largest difference in the overlap of one machine, 0…1."""
    visits: int


def of_both(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    counted: list[CountedLoad],
    system: list[MachineLoad],
    seconds: Float,
) -> BothWays:
    """Compare both sources in visits with both; one entry per visit each.

    Raises InsufficientData, NotANumber, BadShape.
    """
    if not len(weight) == len(group) == len(counted) == len(system) == len(seconds):
        raise BadShape("Visits need a weight, a group, two loads and seconds each.")
    enough("visits", len(counted), 1)
    apu, thread_any, overlap, utilisation, system_apu, system_overlap = _of_core_time(
        weight,
        group,
        weights,
        core_s=np.array([load.cores for load in counted]) * positives("seconds watched", seconds),
        measures=np.array(
            [
                [cycles.apu, cycles.thread_any, cycles.overlap, cycles.utilisation, time.apu, time.overlap]
                for cycles, time in zip(counted, system, strict=True)
            ]
        ),
    )
    disagreement = largest_disagreement(
        joined([load.states for load in counted]), joined([load.states for load in system])
    )
    return BothWays(
        apu,
        thread_any,
        overlap,
        utilisation,
        system_apu,
        system_overlap,
        largest_disagreement=disagreement,
        visits=len(counted),
    )


def _of_core_time(
    weight: Float, group: Int, weights: Weights, *, core_s: Float, measures: Float
) -> list[Estimates]:
    """Estimates of K measures, (V, K) by visit, as shares of the core-time of all machines."""
    visit, row = np.nonzero(measures)
    found = moments.from_visits(
        weight,
        group,
        weights,
        x=core_s,
        row=row,
        visit=visit,
        y=(measures * core_s[:, None])[visit, row],
        rows=measures.shape[1],
    )
    return [estimate.shares(found.of(np.array([place]))) for place in range(measures.shape[1])]


@dataclass(frozen=True, slots=True)
class ApplicationLoad:
    """The use of the fleet's cores by each of R applications."""

    core_seconds: Float
    """Adjusted core-time used; (R,)."""
    per_cpu_second: Ratios
    """Adjusted core-seconds per CPU-second of accounting, 0.5 … 1 if cores have two threads and OC ≤ 2.

    Low where threads share cores well, high where an application has cores to itself."""


def of_applications(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    loads: Sequence[MachineLoad | CountedLoad],
    seconds: Float,
    row: Int,
    visit: Int,
    cpu_seconds: Float,
    rows: int,
) -> ApplicationLoad:
    """The use by applications, from `cpu_seconds` > 0 for each pair of an application (row) and a visit.

    A visit's applications should include all its CPU time, the kernel's, too; any missing part is assigned to the given
    ones. Raises InsufficientData, NotANumber, BadShape.
    """
    if not len(weight) == len(group) == len(loads) == len(seconds):
        raise BadShape("Visits need a weight, a group, a load and seconds each.")
    enough("visits", len(loads), 1)
    if not len(row) == len(visit) == len(cpu_seconds) or visit.max(initial=-1) >= len(loads):
        raise BadShape("Pairs of an application and a visit that is there need CPU seconds each.")
    time = positives("CPU seconds of an application", cpu_seconds)
    core_s = np.array([load.cores * load.apu for load in loads]) * numbers("seconds watched", seconds, 0)
    of_visit = np.bincount(visit, weights=time, minlength=len(loads))
    found = of_sums(
        weight,
        group,
        weights,
        row=row,
        visit=visit,
        y=time / of_visit[visit] * core_s[visit],
        x=time,
        rows=rows,
    )
    return ApplicationLoad(found.y, found)
