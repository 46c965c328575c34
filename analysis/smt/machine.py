"""A machine's APU from the utilisation of its logical CPUs and the core of each, or from cycle counters.

A core with one online thread has no overlap: its APU is its utilisation. Cores with more than two threads (POWER) are
rejected, since the model has two.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float, Int
from analysis.errors import BadShape, Contradictory
from analysis.input_checks import enough, number, numbers
from analysis.smt.apu import apu, simplified
from analysis.smt.states import SKEW, States, from_sums, from_utilisation

NONE = States(np.zeros(0), np.zeros(0), np.zeros(0))
"""States of no cores."""


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """Four measures of one machine's load from the same CPUs, each 0…1."""

    utilisation: float
    thread_any: float
    apu: float
    simplified: float
    """APU from the mean utilisation of each core alone."""
    overlap: float
    """Share of core-time with both threads busy."""
    cores: int
    sibling_cores: int
    """Cores with two online threads."""

    @property
    def states(self) -> States:
        """The mean state of its cores; (1,)."""
        return _states(self.overlap, self.thread_any)


@dataclass(frozen=True, slots=True)
class CountedLoad:
    """The load of a machine whose cores have two threads, from cycle counters (DIGEST A2); each 0…1."""

    utilisation: float
    """Of its threads, by cycles."""
    thread_any: float
    apu: float
    overlap: float
    cores: int

    @property
    def states(self) -> States:
        """The mean state of its cores; (1,)."""
        return _states(self.overlap, self.thread_any)


def of_counters(
    *, threads: float, either: float, available: float, cores: int, coefficient: float, skew: float = SKEW
) -> CountedLoad:
    """The load of a machine whose cores all have two threads, from summed cycles (`states.from_sums`).

    Raises InsufficientData, NotANumber, Contradictory.
    """
    enough("cores", cores, 1)
    found = from_sums(threads, either, available, skew)
    oc = number("overlap coefficient", coefficient, 1)
    return CountedLoad(
        utilisation=float(found.utilisation[0]),
        thread_any=float(found.thread_any[0]),
        apu=float(apu(found, oc)[0]),
        overlap=float(found.overlap[0]),
        cores=cores,
    )


def of_cpus(core: Int, utilisation: ArrayLike, coefficient: float) -> MachineLoad:
    """The load of a machine from its logical CPUs, (L,) each; threads of one core have the same `core` number.

    `coefficient` is the OC of the machine's workload (`overlap.mixed` for a mix). Cores of different packages need
    different numbers. Raises InsufficientData, NotANumber, BadShape, and Contradictory for cores with over two threads.
    """
    u = numbers("utilisation of logical CPUs", utilisation, 0, 1)
    oc = number("overlap coefficient", coefficient, 1)
    if u.ndim != 1 or len(core) != len(u):
        raise BadShape("Logical CPUs need a core and a utilisation each.")
    enough("logical CPUs", len(u), 1)
    _, of = np.unique(core, return_inverse=True)
    threads = np.bincount(of)
    if threads.max() > 2:
        raise Contradictory(f"A core has {threads.max()} threads online: APU is defined for one or two.")
    by_core = u[np.argsort(of, kind="stable")]
    first = np.cumsum(threads) - threads
    paired = threads == 2
    return of_cores(
        from_utilisation(by_core[first[paired]], by_core[first[paired] + 1]) if paired.any() else NONE,
        by_core[first[~paired]],
        oc,
    )


def of_cores(paired: States, single: Float, coefficient: float) -> MachineLoad:
    """The load of a machine from the states of its cores with two threads and the utilisations of those with one.

    The states may come from counters (`states.from_cycles`). Raises InsufficientData, NotANumber.
    """
    single = numbers("utilisation", single, 0, 1)
    cores = len(paired.overlap) + len(single)
    enough("cores", cores, 1)
    busy = float(single.sum())
    mean = np.clip(paired.utilisation, 0.0, 1.0)
    return MachineLoad(
        utilisation=float(2 * mean.sum() + busy) / (2 * len(mean) + len(single)),
        thread_any=(float(paired.thread_any.sum()) + busy) / cores,
        apu=(float(apu(paired, coefficient).sum()) + busy) / cores,
        simplified=(float(simplified(mean, coefficient).sum()) + busy) / cores,
        overlap=float(paired.overlap.sum()) / cores,
        cores=cores,
        sibling_cores=len(mean),
    )


def _states(overlap: float, thread_any: float) -> States:
    return States(np.array([overlap]), np.array([thread_any - overlap]), np.array([1 - thread_any]))
