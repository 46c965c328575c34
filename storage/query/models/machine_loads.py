"""How busy the cores of each visit's machine were, with the overlap coefficient of what ran there (DIGEST A1–A4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.errors import CannotSay
from analysis.smt import overlap
from analysis.smt.machine import MachineLoad, of_cpus
from storage import calibrations
from storage.calibrations import Calibration, Kind
from storage.errors import BadSelection
from storage.query.arrays import Float, Int64
from storage.query.models.told import Unsaid
from storage.query.observed.cpus import LogicalCpus, read_cpus
from storage.query.observed.machines import APPLICATION, MachineVisits, read_machine_visits
from storage.query.observed.time_used import TimeUsed, read_time_used
from storage.query.reader import Reading
from storage.query.selections.selection import Selection

MOST_VISITS = 100_000
"""More of them are not modelled core by core for one answer."""


@dataclass(frozen=True, slots=True)
class MachineLoads:
    """The load of the machine in each visit of a selection."""

    visits: MachineVisits
    loads: list[MachineLoad | None]
    """By visit; None: it has no APU."""
    left_out: Counter[str]
    """Visits without one, by why."""
    used: TimeUsed
    names: Mapping[int, str]
    """Of the applications in `used`."""
    coefficients: tuple[Calibration, ...]
    """That were used."""

    @property
    def there(self) -> Int64:
        """Places of the visits that have an APU."""
        return np.array([place for place, load in enumerate(self.loads) if load is not None], np.int64)


@dataclass(frozen=True, slots=True)
class CoreTimes:
    """What loads are made of: how busy each logical CPU of each visit was, and what ran there."""

    visits: MachineVisits
    cpus: LogicalCpus
    used: TimeUsed
    names: Mapping[int, str]
    """Of the applications in `used`."""


def read_core_times(reading: Reading, selection: Selection) -> CoreTimes:
    """Those of a selection. Raises `BadSelection` for too many visits, `UnknownCampaign`, `DatabaseError`."""
    connection = reading.connection
    visits = read_machine_visits(connection, selection)
    if len(visits) > MOST_VISITS:
        raise BadSelection(
            f"The selection holds {len(visits):,} visits; {MOST_VISITS:,} are modelled core by core for one answer.",
            hint="Choose a shorter time range, or match a datacenter.",
        )
    cpus = read_cpus(connection, selection, visits)
    used = read_time_used(connection, selection, visits)
    ids = np.unique(used.application)
    names = dict(zip(ids.tolist(), reading.label_values(APPLICATION, ids), strict=True))
    return CoreTimes(visits, cpus, used, names)


def machine_loads(
    reading: Reading, times: CoreTimes, coefficient: float | None, *, calibrated: bool = True
) -> MachineLoads:
    """The loads, by calibrated overlap coefficients unless told otherwise, and by `coefficient` where there is none."""
    known = calibrations.read(reading.connection, Kind.SMT) if calibrated else ()
    coefficients = _Coefficients(known, coefficient)
    loads, left_out = _loads(times.visits, times.cpus, times.used, times.names, coefficients)
    return MachineLoads(times.visits, loads, left_out, times.used, times.names, coefficients.used)


class _Coefficients:
    """The overlap coefficient of what runs on a platform."""

    def __init__(self, known: Sequence[Calibration], otherwise: float | None) -> None:
        self._known = known
        self._otherwise = otherwise
        self._found: dict[tuple[str, str], Calibration | None] = {}

    @property
    def used(self) -> tuple[Calibration, ...]:
        """Those that were asked for and there."""
        different = {(c.platform, c.workload): c for c in self._found.values() if c is not None}
        return tuple(different[key] for key in sorted(different))

    def of(self, platform: str, applications: Sequence[str], seconds: Float) -> float | None:
        """That of a mix; None: one of it is not known."""
        values = [self._one(platform, application) for application in applications or ("",)]
        if any(value is None for value in values):
            return None
        given = [value for value in values if value is not None]
        return given[0] if len(given) == 1 or not seconds.sum() else overlap.mixed(given, seconds)

    def _one(self, platform: str, application: str) -> float | None:
        key = (platform, application)
        if key not in self._found:
            self._found[key] = calibrations.of_platform(self._known, platform, application)
        found = self._found[key]
        return self._otherwise if found is None else found.value


def _loads(
    visits: MachineVisits,
    cpus: LogicalCpus,
    used: TimeUsed,
    names: Mapping[int, str],
    coefficients: _Coefficients,
) -> tuple[list[MachineLoad | None], Counter[str]]:
    """The load of each visit's machine; None: it has none, counted by why."""
    left_out: Counter[str] = Counter()
    loads: list[MachineLoad | None] = []
    by_visit = np.searchsorted(cpus.visit, np.arange(len(visits) + 1)).tolist()
    order = np.argsort(used.visit, kind="stable")
    time = np.searchsorted(used.visit[order], np.arange(len(visits) + 1)).tolist()
    platforms = visits.names["platform"]
    for place, ((low, high), (first, end)) in enumerate(zip(pairwise(by_visit), pairwise(time), strict=True)):
        core, window = cpus.core[low:high], cpus.window_s[low:high]
        platform = platforms[int(visits.values["platform"][place])]
        ran = order[first:end]
        # A core with one thread has its utilisation, whatever the coefficient: nobody could measure one there.
        coefficient = (
            coefficients.of(
                platform, [names[id_] for id_ in used.application[ran].tolist()], used.seconds[ran]
            )
            if len(np.unique(core)) < len(core)
            else 1.0
        )
        why = ""
        if not len(core) or not (window > 0).all():
            why = "its logical CPUs were not read"
        elif (core < 0).any():
            why = "which CPUs share a core is not known"
        elif coefficient is None:
            why = f"no overlap coefficient of {platform or 'its platform'}"
        load = None
        if not why and coefficient is not None:
            try:
                load = of_cpus(core, np.clip(cpus.busy_s[low:high] / window, 0.0, 1.0), coefficient)
            except CannotSay as error:
                why = str(error)
        if load is None:
            left_out[why] += 1
        loads.append(load)
    return loads, left_out


def no_load(found: MachineLoads) -> Unsaid | None:
    """Why none of the visits has a load that says anything of the fleet; None: some have."""
    visits, left_out = found.visits, found.left_out
    if not len(visits):
        return Unsaid("too_little", "No visit of the selection has landed.")
    if visits.weights is None:
        return Unsaid("not_random", "Visits by hand are no random sample, so they say nothing of the fleet.")
    if not len(found.there):
        why, _ = left_out.most_common(1)[0]
        hint = " Run: fleetprof calibrate smt, or give a coefficient." if "coefficient" in why else ""
        return Unsaid("too_little", f"No visit has an APU: {why}.{hint}")
    return None
