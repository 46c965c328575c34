"""The load of the cores of each visit's machine, with the overlap coefficient of its applications (DIGEST A1–A4).

A load is computed in two ways: from the times of the logical CPUs, as the operating system accounts them, and from
counters of cycles if the visit has them. The second way takes the machine's cores from the first. So the visits with
the second are always a part of those with the first.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from analysis.errors import Contradictory, InsufficientData, NotEstimable
from analysis.smt.machine import CountedLoad, MachineLoad, of_counters, of_cpus
from storage import calibrations
from storage.arrays import Bool, Int64
from storage.calibrations import Calibration, Kind
from storage.errors import BadSelection
from storage.query.answers.inputs import Unavailable
from storage.query.models.coefficients import Coefficients
from storage.query.observed.cpus import LogicalCpus, read_cpus
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.observed.thread_cycles import ThreadCycles, read_thread_cycles
from storage.query.observed.time_used import TimeUsed, read_time_used
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_VISITS = 100_000
"""Limit of visits that one answer models core by core."""
MOST_UNCOUNTED = 0.1
"""Largest share of visits without counters at which the visits with counters represent all."""
_VISITS_AT_ONCE = 256
"""Visits between checks of the budget; a visit takes some 0.1 ms."""
MOST_APART = 0.03
"""Largest difference between utilisations by cycles and by times; a wrong frequency shifts APU by at most twice it."""


@dataclass(frozen=True, slots=True)
class MachineLoads:
    """The load of the machine in each visit of a selection."""

    visits: MachineVisits
    loads: list[MachineLoad | None]
    """By visit; None: the visit has no APU."""
    left_out: Counter[str]
    """Visits without an APU, by cause."""
    counted: list[CountedLoad | None]
    """Loads by counters of cycles, for visits with a load; None: the visit has none."""
    not_counted: Counter[str]
    """Visits with a load and without one by counters, by cause."""
    used: TimeUsed
    names: Mapping[int, str]
    """Names of the applications in `used`."""
    coefficients: tuple[Calibration, ...]
    """Coefficients used."""

    @property
    def there(self) -> Int64:
        """Places of the visits with an APU."""
        return np.array([place for place, load in enumerate(self.loads) if load is not None], np.int64)


@dataclass(frozen=True, slots=True)
class CoreTimes:
    """The inputs of loads: the busy time of each logical CPU of each visit, and the applications that ran there."""

    visits: MachineVisits
    cpus: LogicalCpus
    used: TimeUsed
    names: Mapping[int, str]
    """Names of the applications in `used`."""
    cycles: ThreadCycles | None = None
    """None: without counters."""

    def of(self, keep: Bool) -> "CoreTimes":
        """The inputs of some of the visits."""
        place = np.cumsum(keep) - 1
        cpus, used = self.cpus.of(keep[self.cpus.visit]), self.used
        pairs = keep[used.visit]
        return CoreTimes(
            self.visits.of(keep),
            replace(cpus, visit=place[cpus.visit]),
            TimeUsed(place[used.visit[pairs]], used.application[pairs], used.seconds[pairs]),
            self.names,
            None if self.cycles is None else self.cycles.of(keep),
        )


def read_core_times(reading: StoreReading, selection: Selection) -> CoreTimes:
    """The inputs of a selection. Raises `BadSelection` for too many visits, `UnknownCampaign`, `DatabaseError`."""
    connection = reading.connection
    visits = read_machine_visits(connection, selection)
    if len(visits) > MOST_VISITS:
        raise BadSelection(
            f"The selection holds {len(visits):,} visits; the limit of a model of single cores is "
            f"{MOST_VISITS:,}.",
            hint="Choose a shorter time range, or match a datacenter.",
        )
    cpus = read_cpus(connection, selection, visits)
    used = read_time_used(connection, selection, visits)
    ids = np.unique(used.application)
    names = dict(zip(ids.tolist(), reading.label_values(APPLICATION, ids), strict=True))
    cycles = read_thread_cycles(connection, selection, visits, cpus)
    return CoreTimes(visits, cpus, used, names, cycles)


def machine_loads(
    reading: StoreReading, times: CoreTimes, coefficient: float | None, *, calibrated: bool = True
) -> MachineLoads:
    """The loads, with calibrated overlap coefficients if `calibrated`, and with `coefficient` where there is none."""
    known = calibrations.read(reading.connection, Kind.SMT) if calibrated else ()
    coefficients = Coefficients(known, coefficient)
    found = MachineLoads(times.visits, [], Counter(), [], Counter(), times.used, times.names, ())
    for place, cpus, mix in _by_visit(times):
        if place % _VISITS_AT_ONCE == 0:
            query_budget.checkpoint()
        _add(found, times, place, cpus=cpus, mix=mix, coefficients=coefficients)
    return replace(found, coefficients=coefficients.used)


def _by_visit(times: CoreTimes) -> Iterator[tuple[int, slice, Int64]]:
    """Each visit's place, its logical CPUs, and its pairs of used time."""
    ends = np.arange(len(times.visits) + 1)
    by_visit = np.searchsorted(times.cpus.visit, ends).tolist()
    order = np.argsort(times.used.visit, kind="stable")
    time = np.searchsorted(times.used.visit[order], ends).tolist()
    for place, ((low, high), (first, end)) in enumerate(zip(pairwise(by_visit), pairwise(time), strict=True)):
        yield place, slice(low, high), order[first:end]


def _add(
    found: MachineLoads, times: CoreTimes, place: int, *, cpus: slice, mix: Int64, coefficients: Coefficients
) -> None:
    """Add the load of one visit's machine, or the cause why it has none; and its load by counters."""
    visits, used = times.visits, times.used
    core, window = times.cpus.core[cpus], times.cpus.window_s[cpus]
    platform = visits.names["platform"][int(visits.values["platform"][place])]
    # The load of a core with one thread is its utilisation, whatever the coefficient: it cannot be measured there.
    coefficient = (
        coefficients.of(
            platform, [found.names[id_] for id_ in used.application[mix].tolist()], used.seconds[mix]
        )
        if len(np.unique(core)) < len(core)
        else 1.0
    )
    why = ""
    if not len(core) or not (window > 0).all():
        why = "its logical CPUs were not read"
    elif (core < 0).any():
        why = "the assignment of its CPUs to cores is unknown"
    elif coefficient is None:
        why = f"the overlap coefficient of {platform or 'its platform'} is unknown"
    load = counted = None
    if not why and coefficient is not None:
        try:
            load = of_cpus(core, np.clip(times.cpus.busy_s[cpus] / window, 0.0, 1.0), coefficient)
        except NotEstimable as error:
            why = str(error)
    if load is None or coefficient is None:
        found.left_out[why] += 1
    elif times.cycles is not None:
        try:
            counted = _of_counters(times.cycles, place, load, len(core), coefficient)
        except NotEstimable as error:
            found.not_counted[str(error)] += 1
    found.loads.append(load)
    found.counted.append(counted)


def _of_counters(
    cycles: ThreadCycles, place: int, load: MachineLoad, cpus: int, coefficient: float
) -> CountedLoad:
    """The load by counters, for a machine with this `load` by times.

    Raises NotEstimable, also if the utilisations differ.
    """
    why = str(cycles.why[place])
    if not load.sibling_cores:
        why = "its cores have one thread"
    elif load.sibling_cores < load.cores:
        why = "some of its cores have one thread online, and sums over the machine cannot be split"
    elif not why and cycles.cpus[place] not in {0, cpus}:
        why = "its cycles do not cover all its logical CPUs"
    if why:
        raise InsufficientData(why)
    found = of_counters(
        threads=float(cycles.threads[place]),
        either=float(cycles.either[place]),
        available=float(cycles.per_core[place]) * load.cores,
        cores=load.cores,
        coefficient=coefficient,
        skew=float(cycles.skew[place]),
    )
    # A wrong frequency scales every measure of cycles by the same factor, so cycles alone cannot reveal it.
    if abs(found.utilisation - load.utilisation) > max(MOST_APART, float(cycles.skew[place])):
        raise Contradictory(
            "its cycles and its times give different utilisations: the assumed reference frequency "
            "is wrong, or idle CPUs poll"
        )
    return found


def no_load(found: MachineLoads) -> Unavailable | None:
    """The reason why no visit has a load that represents the fleet; None: some have."""
    visits, left_out = found.visits, found.left_out
    if not len(visits):
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if visits.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    if not len(found.there):
        why, _ = left_out.most_common(1)[0]
        hint = " Run: fleetprof calibrate smt, or give a coefficient." if "coefficient" in why else ""
        return Unavailable("too_little", f"No visit has an APU: {why}.{hint}")
    return None


def not_counted(found: MachineLoads) -> Unavailable | None:
    """The reason why no visit with a load has one by counters; None: some have, or no visit has a load."""
    if not found.not_counted or any(load is not None for load in found.counted):
        return None
    why, _ = found.not_counted.most_common(1)[0]
    return Unavailable("too_little", f"No visit has an APU by counters: {why}.")
