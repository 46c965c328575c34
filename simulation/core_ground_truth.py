"""True values of cores in the simulated fleet: their used capacity and the requests that they serve.

All values are shares of core-time over the machines and slots of a selection, as expectations over each window's busy
share (`contention.busy_shares`), from which the states of cores follow (`threads`). A request is work that takes an
idle core `REQUEST_S`, so a machine serves requests in proportion to its cores' work. Fully used, it serves

    cores · max(1, 2/OC) / REQUEST_S,

independent of its current utilisation. The operating system's APU (DIGEST A3) assumes independent threads. It is right
if they are independent. If the kernel keeps them apart, its error follows from the values here.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from simulation.contention import busy_shares
from simulation.fleet import SLOT_S, Fleet, slot_of
from simulation.ground_truth import Wanted, machines_of
from simulation.platforms import PLATFORMS
from simulation.seeded_random import Floats, Indexes
from simulation.threads import Cores
from simulation.window import BUSY_CONCENTRATION

REQUEST_S: Final = 0.01
_GRID: Final = 2049


@dataclass(frozen=True, slots=True)
class CoreTruth:
    """The cores of a selection; shares of core-time, 0…1."""

    utilisation: float
    """Busy share of logical CPUs."""
    thread_any: float
    overlap: float
    """Share with both threads busy."""
    independent_overlap: float
    """Overlap if threads were busy independently of each other."""
    apu: float
    independent_apu: float
    """APU according to the operating system's times."""
    simplified: float
    requests_per_s: float
    full_per_s: float
    """Requests per second that these machines serve at most."""


def core_truth(fleet: Fleet, wanted: Wanted) -> CoreTruth:
    """True values of a selection of machines and time. Raises ValueError if it is empty or selects applications."""
    if wanted.application is not None or wanted.version is not None:
        raise ValueError("Applications share cores.")
    if not wanted.end > wanted.start:
        raise ValueError("The time range is empty.")
    machines = machines_of(fleet, wanted)
    layouts = [fleet.layout(machine) for machine in machines.tolist()]
    coefficient = np.array(
        [PLATFORMS[p].overlap if fleet.threads > 1 else 1.0 for p in fleet.platform[machines]]
    )
    cores = np.array([layout.cores for layout in layouts])
    # Core-seconds: utilisation, thread_any, overlap, independent overlap, APU, independent APU, simplified.
    sums, passed = np.zeros(7), 0.0
    work = 0.0
    for slot in range(slot_of(wanted.start), slot_of(np.nextafter(wanted.end, -np.inf)) + 1):
        seconds = min(wanted.end, (slot + 1) * SLOT_S) - max(wanted.start, slot * SLOT_S)
        found = _in_slot(fleet, slot, machines, layouts, coefficient) * cores
        sums += found.sum(axis=1) * seconds
        work += float((found[4] * _best(fleet, coefficient)).sum()) * seconds
        passed += seconds
    utilisation, thread_any, overlap, independent, apu, independent_apu, simplified = (
        float(value) for value in sums / (cores.sum() * passed)
    )
    return CoreTruth(
        utilisation=utilisation,
        thread_any=thread_any,
        overlap=overlap,
        independent_overlap=independent,
        apu=apu,
        independent_apu=independent_apu,
        simplified=simplified,
        requests_per_s=work / REQUEST_S / passed,
        full_per_s=float((cores * _best(fleet, coefficient)).sum()) / REQUEST_S,
    )


def _best(fleet: Fleet, coefficient: Floats) -> Floats:
    """Work of a fully used core, relative to a core with one busy thread."""
    return np.maximum(1.0, 2.0 / coefficient) if fleet.threads > 1 else np.ones_like(coefficient)


def _in_slot(fleet: Fleet, slot: int, machines: Indexes, layouts: list[Cores], coefficient: Floats) -> Floats:
    """The seven shares of each machine's core-time, expected over windows; (7, m)."""
    busy, weight = busy_shares(fleet.at(slot, machines).utilisation, BUSY_CONCENTRATION)
    weight /= weight.sum(axis=-1, keepdims=True)
    found = np.empty((7, len(machines)))
    for place, (layout, half) in enumerate(zip(layouts, coefficient / 2, strict=True)):
        found[:, place] = _measures(layout, busy[place], float(half)) @ weight[place]
    return found


def _measures(layout: Cores, busy: Floats, half: float) -> Floats:
    """The seven shares at each busy share; (7, n)."""
    grid, shares = _table(layout, half)
    return np.stack([np.interp(busy, grid, row) for row in shares])


@lru_cache(maxsize=64)
def _table(layout: Cores, half: float) -> tuple[Floats, Floats]:
    """Busy shares 0…1 and the seven shares at each. `half`: half of the overlap coefficient, below 1 or not."""
    busy = np.linspace(0.0, 1.0, _GRID)
    if layout.threads == 1:
        nothing = np.zeros_like(busy)
        return busy, np.stack([busy, busy, nothing, nothing, busy, busy, busy])
    shares = layout.shares(busy)
    mean = shares.mean(axis=-2)
    overlap = layout.overlap_of(shares)
    independent = replace(layout, apart=False).overlap_of(shares)
    whole = max(half, 1.0)
    rows = (
        mean,
        2 * mean - overlap,
        overlap,
        independent,
        ((2 * mean - 2 * overlap) * half + overlap) / whole,
        ((2 * mean - 2 * independent) * half + independent) / whole,
        np.clip((1 - 2 * half) * mean**2 + 2 * half * mean, 0.0, 1.0),
    )
    return busy, np.stack([row.mean(axis=-1) for row in rows])
