"""How much of its cores' capacity the fleet uses, where cores have two threads: APU beside CPU utilisation (DIGEST A1-A5).

A visit says how busy each logical CPU was and which share a core; the overlap coefficient is its platform's, mixed of those of the
applications that ran by their CPU time (`storage.calibrations`). A platform without a coefficient has no APU, and is told.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.errors import CannotSay
from analysis.estimate import Estimates
from analysis.smt import overlap
from analysis.smt.fleet import of_applications, of_cluster
from analysis.smt.machine import MachineLoad, of_cpus
from storage import calibrations
from storage.calibrations import Calibration, Kind
from storage.errors import BadSelection
from storage.query.arrays import Float, Int64
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.cpus import LogicalCpus, read_cpus
from storage.query.observed.machines import APPLICATION, LABELS, MachineVisits, read_machine_visits
from storage.query.observed.time_used import TimeUsed, read_time_used
from storage.query.reader import Reading
from storage.query.selections.selection import Selection
from storage.query.weighing.estimates import Interval

MOST_ROWS = 10_000
MOST_VISITS = 100_000
"""More of them are not modelled core by core for one answer."""


@dataclass(frozen=True, slots=True)
class LoadRow:
    """The load of the machines of one value, four ways, each 0…1 of core-time."""

    value: str
    utilisation: Interval
    """Of logical CPUs: what monitoring shows."""
    thread_any: Interval
    """Core-time with any thread busy."""
    apu: Interval
    simplified: Interval
    """APU from each core's mean utilisation alone."""
    few: bool
    visits: int
    machines: int


@dataclass(frozen=True, slots=True)
class UseRow:
    """What one application uses up of the fleet's cores."""

    application: str
    core_seconds: float
    """Capacity used up, of the fleet in the covered time."""
    per_cpu_second: Interval
    """Of that, for each CPU second that accounting shows; `hi` is ∞ where a single visit has it."""
    few: bool
    visits: int


@dataclass(frozen=True, slots=True)
class ApuAnswer:
    """Rows by machine label or by application, or why there are none."""

    by: str
    loads: tuple[LoadRow, ...]
    uses: tuple[UseRow, ...]
    coefficients: tuple[Calibration, ...]
    """That were used."""
    left_out: Mapping[str, int]
    """Visits without an APU, by why."""
    inputs: Inputs
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class ApuQuestion:
    """The load of the selection's machines by one of `LABELS`, or what applications use up."""

    selection: Selection
    by: str = "datacenter"
    coefficient: float | None = None
    """Taken for platforms that have none of their own; None: these are left out."""
    limit: int = 100

    def answer(self, reading: Reading) -> ApuAnswer:
        """The loads. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        connection = reading.connection
        visits = read_machine_visits(connection, self.selection)
        if len(visits) > MOST_VISITS:
            raise BadSelection(
                f"The selection holds {len(visits):,} visits; {MOST_VISITS:,} are modelled core by core for one answer.",
                hint="Choose a shorter time range, or match a datacenter.",
            )
        cpus = read_cpus(connection, self.selection, visits)
        used = read_time_used(connection, self.selection, visits)
        ids = np.unique(used.application)
        names = dict(zip(ids.tolist(), reading.label_values(APPLICATION, ids), strict=True))
        known = calibrations.read(connection, Kind.SMT)
        coefficients = _Coefficients(known, self.coefficient)
        loads, left_out = _loads(visits, cpus, used, names, coefficients)
        there = np.array([place for place, load in enumerate(loads) if load is not None], np.int64)
        inputs = Inputs(visits.coverage, len(visits), len(there))
        chosen = [load for load in loads if load is not None]
        unsaid = _unsaid(visits, there, left_out)
        by_label: tuple[LoadRow, ...] = ()
        uses: tuple[UseRow, ...] = ()
        if unsaid is None and self.by == APPLICATION:
            uses = _uses(visits.of(there), chosen, _moved(used, there, len(visits)), names)
        elif unsaid is None:
            by_label = _by_label(visits.of(there), chosen, self.by)
        return ApuAnswer(
            self.by,
            by_label[: self.limit],
            uses[: self.limit],
            coefficients.used,
            dict(left_out),
            inputs,
            unsaid,
        )


def _check(question: ApuQuestion) -> None:
    if question.by not in {APPLICATION, *LABELS}:
        raise BadSelection(
            f"The load of cores is not known by {question.by!r}.",
            hint=f"by= one of {', '.join((*LABELS, APPLICATION))}.",
        )
    if any(matcher.label == APPLICATION for matcher in question.selection.matchers):
        raise BadSelection(
            "Cores are shared by applications: the load of one alone is not known.",
            hint="Ask by=application for what each uses up.",
        )
    if question.coefficient is not None and not 1 <= question.coefficient <= 10:
        raise BadSelection("An overlap coefficient lies between 1 and 10.", hint="1.4, for example.")


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
        coefficient = coefficients.of(
            platform, [names[id_] for id_ in used.application[ran].tolist()], used.seconds[ran]
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


def _unsaid(visits: MachineVisits, there: Int64, left_out: Counter[str]) -> Unsaid | None:
    if not len(visits):
        return Unsaid("too_little", "No visit of the selection has landed.")
    if visits.weights is None:
        return Unsaid("not_random", "Visits by hand are no random sample, so they say nothing of the fleet.")
    if not len(there):
        why, _ = left_out.most_common(1)[0]
        hint = " Run: fleetprof calibrate smt, or give a coefficient." if "coefficient" in why else ""
        return Unsaid("too_little", f"No visit has an APU: {why}.{hint}")
    return None


def _moved(used: TimeUsed, there: Int64, visits: int) -> TimeUsed:
    """The time used in some visits, by their places among those."""
    new = np.full(visits, -1, np.int64)
    new[there] = np.arange(len(there))
    keep = (new[used.visit] >= 0) & (used.seconds > 0)
    return TimeUsed(new[used.visit[keep]], used.application[keep], used.seconds[keep])


def _by_label(visits: MachineVisits, loads: Sequence[MachineLoad], label: str) -> tuple[LoadRow, ...]:
    rows: list[tuple[float, LoadRow]] = []
    weights = visits.weights
    if weights is None:
        raise TypeError("visits without weights have no estimates")
    cores = np.array([load.cores for load in loads])
    for number, name in enumerate(visits.names[label]):
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
            few=bool(found.apu.few[0]),
            visits=len(here),
            machines=len(np.unique(visits.values["machine"][here])),
        )
        rows.append((float((cores[here] * visits.seconds[here] * visits.weight[here]).sum()), row))
    rows.sort(key=lambda item: (-item[0], item[1].value))
    return tuple(row for _, row in rows)


def _uses(
    visits: MachineVisits, loads: list[MachineLoad], used: TimeUsed, names: Mapping[int, str]
) -> tuple[UseRow, ...]:
    weights = visits.weights
    if weights is None:
        raise TypeError("visits without weights have no estimates")
    counted = visits.group >= 0
    number = np.cumsum(counted) - 1
    pairs = counted[used.visit]
    ids, row = np.unique(used.application[pairs], return_inverse=True)
    found = of_applications(
        visits.weight[counted],
        visits.group[counted],
        weights,
        loads=[load for load, there in zip(loads, counted.tolist(), strict=True) if there],
        seconds=visits.seconds[counted],
        row=row.astype(np.int64),
        visit=number[used.visit[pairs]],
        cpu_seconds=used.seconds[pairs],
        rows=len(ids),
    )
    ratio = found.per_cpu_second
    rows = [
        UseRow(
            application=names[id_],
            core_seconds=float(found.core_seconds[place]),
            per_cpu_second=Interval(
                float(ratio.value[place]), float(ratio.lo[place]), float(ratio.hi[place])
            ),
            few=bool(ratio.few[place]),
            visits=int(ratio.visits[place]),
        )
        for place, id_ in enumerate(ids.tolist())
    ]
    rows.sort(key=lambda row: (-row.core_seconds, row.application))
    return tuple(rows)


def _interval(found: Estimates) -> Interval:
    return Interval(float(found.value[0]), float(found.lo[0]), float(found.hi[0]))
