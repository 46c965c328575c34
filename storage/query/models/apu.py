"""How much of its cores' capacity the fleet uses, where cores have two threads: APU beside CPU utilisation (DIGEST A1-A5).

A visit says how busy each logical CPU was and which share a core; the overlap coefficient is its platform's, mixed of those of the
applications that ran by their CPU time (`storage.calibrations`). A platform without a coefficient has no APU, and is told,
unless its cores have one thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.estimate import Estimates
from analysis.smt.fleet import of_applications, of_cluster
from analysis.smt.machine import MachineLoad
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.arrays import Int64
from storage.query.models.machine_loads import machine_loads, no_load, read_core_times
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.machines import APPLICATION, LABELS, MachineVisits
from storage.query.observed.time_used import TimeUsed
from storage.query.reader import Reading
from storage.query.selections.selection import Selection
from storage.query.weighing.estimates import Interval

MOST_ROWS = 10_000


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
        found = machine_loads(reading, read_core_times(reading, self.selection), self.coefficient)
        visits, loads, left_out, used = found.visits, found.loads, found.left_out, found.used
        there = found.there
        inputs = Inputs(visits.coverage, len(visits), len(there))
        chosen = [load for load in loads if load is not None]
        unsaid = no_load(found)
        by_label: tuple[LoadRow, ...] = ()
        uses: tuple[UseRow, ...] = ()
        if unsaid is None and self.by == APPLICATION:
            uses = _uses(visits.of(there), chosen, _moved(used, there, len(visits)), found.names)
        elif unsaid is None:
            by_label = _by_label(visits.of(there), chosen, self.by)
        return ApuAnswer(
            self.by,
            by_label[: self.limit],
            uses[: self.limit],
            found.coefficients,
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
