"""The used share of the fleet's cores if they have two threads: APU beside CPU utilisation (DIGEST A1-A5).

A visit has the busy time of each logical CPU, and which of them share a core. The overlap coefficient is that of the
platform, mixed from those of the applications by their CPU time (`storage.calibrations`). A platform without a
coefficient has no APU, and the answer reports it, unless its cores have one thread. The time with both threads busy
comes from counters of cycles (A2) or, without them, from the threads' utilisations, if they are busy independently of
each other (A3). If a visit has both, the answer shows both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.ratios import Ratios
from analysis.smt.fleet import ApplicationLoad, of_applications
from analysis.smt.machine import CountedLoad, MachineLoad
from storage.arrays import Int64
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.answers.apu import ApuAnswer, ApuRow, Coefficient, HardwareLoad
from storage.query.answers.figures import Interval, definite, figure
from storage.query.answers.inputs import Inputs, Unavailable, left_out
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.models.load_rows import CountedRow, LoadRow, load_rows
from storage.query.models.machine_loads import CoreTimes, machine_loads, no_load, not_counted, read_core_times
from storage.query.observed.machines import LABELS, MachineVisits
from storage.query.observed.time_used import TimeUsed
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class UseRow:
    """The capacity of the fleet's cores that one application uses."""

    application: str
    core_seconds: float
    """Capacity used, of the fleet in the covered time."""
    per_cpu_second: Interval
    """Capacity used per accounted CPU second; `hi` is ∞ if only one visit has it."""
    counted: Interval | None
    """The same by counters, over the visits that have them; None: none has."""
    low_confidence: bool
    visits: int
    counted_visits: int


@dataclass(frozen=True, slots=True)
class CoreLoads:
    """Loads by machine label or by application, or the reason why there are none."""

    loads: tuple[LoadRow, ...]
    uses: tuple[UseRow, ...]
    coefficients: tuple[Calibration, ...]
    """Coefficients used."""
    left_out: Mapping[str, int]
    """Visits without an APU, by cause."""
    counted: int
    """Visits that also have an APU by counters."""
    not_counted: Mapping[str, int]
    """Visits with an APU from the operating system's times alone, by cause."""
    counted_unavailable: Unavailable | None
    """The reason why there is none by counters."""
    inputs: Inputs
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class ApuQuestion:
    """The load of the selection's machines by one of `LABELS`, or the capacity that applications use."""

    selection: Selection
    by: str = "datacenter"
    coefficient: float | None = None
    """Used for platforms without one of their own; None: these are left out."""
    limit: int = 100

    def answer(self, reading: StoreReading) -> ApuAnswer:
        """The answer. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        found = self.loads(reading)
        return ApuAnswer(
            selection=machine_selection_echo(self.selection),
            by=self.by,
            rows=(*map(_load_row, found.loads), *map(_use_row, found.uses)),
            coefficients=tuple(map(coefficient, found.coefficients)),
            left_out=left_out(found.left_out),
            hardware_used=found.counted,
            hardware_left_out=left_out(found.not_counted),
            hardware_because=found.counted_unavailable,
            inputs=found.inputs,
            because=found.unavailable,
        )

    def loads(self, reading: StoreReading, times: CoreTimes | None = None) -> CoreLoads:
        """The loads; `times` are those of the selection if the caller has read them.

        Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
        """
        _check(self)
        found = machine_loads(reading, times or read_core_times(reading, self.selection), self.coefficient)
        visits, loads, used, there = found.visits, found.loads, found.used, found.there
        inputs = inputs_of(visits.coverage, len(visits), len(there))
        chosen = [load for load in loads if load is not None]
        counted = [found.counted[place] for place in there.tolist()]
        unavailable = no_load(found)
        by_label: tuple[LoadRow, ...] = ()
        uses: tuple[UseRow, ...] = ()
        if unavailable is None and self.by == APPLICATION:
            time = _moved(used, there, len(visits))
            uses = _uses(visits.of(there), chosen, counted, time, found.names)
        elif unavailable is None:
            by_label = load_rows(visits.of(there), chosen, counted, self.by)
        return CoreLoads(
            by_label[: self.limit],
            uses[: self.limit],
            found.coefficients,
            dict(found.left_out),
            sum(load is not None for load in counted),
            dict(found.not_counted),
            not_counted(found),
            inputs,
            unavailable,
        )


def coefficient(found: Calibration) -> Coefficient:
    """A calibrated figure, as answers have it."""
    return Coefficient(
        found.platform, found.workload, found.value, found.lo, found.hi, measured=found.measured
    )


def _load_row(row: LoadRow) -> ApuRow:
    counted = row.counted
    return ApuRow(
        value=row.value,
        utilisation=figure(row.utilisation),
        thread_any=figure(row.thread_any),
        apu=figure(row.apu),
        simplified=figure(row.simplified),
        hardware=None if counted is None else _hardware(counted),
        core_seconds=None,
        per_cpu_second=None,
        hardware_per_cpu_second=None,
        low_confidence=row.low_confidence,
        visits=row.visits,
        hardware_visits=0 if counted is None else counted.visits,
        machines=row.machines,
    )


def _hardware(row: CountedRow) -> HardwareLoad:
    return HardwareLoad(
        apu=definite(row.apu),
        thread_any=definite(row.thread_any),
        overlap=definite(row.overlap),
        utilisation=definite(row.utilisation),
        system_apu=definite(row.system_apu),
        system_overlap=definite(row.system_overlap),
        largest_disagreement=row.largest_disagreement,
    )


def _use_row(use: UseRow) -> ApuRow:
    return ApuRow(
        value=use.application,
        utilisation=None,
        thread_any=None,
        apu=None,
        simplified=None,
        hardware=None,
        core_seconds=use.core_seconds,
        per_cpu_second=figure(use.per_cpu_second),
        hardware_per_cpu_second=figure(use.counted),
        low_confidence=use.low_confidence,
        visits=use.visits,
        hardware_visits=use.counted_visits,
        machines=None,
    )


def _check(question: ApuQuestion) -> None:
    if question.by not in {APPLICATION, *LABELS}:
        raise BadSelection(
            f"The load of cores cannot be grouped by {question.by!r}.",
            hint=f"by= one of {', '.join((*LABELS, APPLICATION))}.",
        )
    if any(matcher.label == APPLICATION for matcher in question.selection.matchers):
        raise BadSelection(
            "Applications share cores, so the load of a single application is unknown.",
            hint="Use by=application for the CPU time of each application.",
        )
    if question.coefficient is not None and not 1 <= question.coefficient <= 10:
        raise BadSelection("An overlap coefficient must be from 1 to 10.", hint="1.4, for example.")


def _moved(used: TimeUsed, there: Int64, visits: int) -> TimeUsed:
    """The time used in some visits, with their places among those visits."""
    new = np.full(visits, -1, np.int64)
    new[there] = np.arange(len(there))
    keep = (new[used.visit] >= 0) & (used.seconds > 0)
    return TimeUsed(new[used.visit[keep]], used.application[keep], used.seconds[keep])


def _uses(
    visits: MachineVisits,
    loads: Sequence[MachineLoad],
    counted: Sequence[CountedLoad | None],
    used: TimeUsed,
    names: Mapping[int, str],
) -> tuple[UseRow, ...]:
    ids, found = _used_up(visits, loads, used)
    by_counters: dict[int, tuple[Interval, int]] = {}
    places = [place for place, load in enumerate(counted) if load is not None and visits.group[place] >= 0]
    if places:
        there = np.array(places, np.int64)
        known = [load for place in places if (load := counted[place]) is not None]
        of, same = _used_up(visits.of(there), known, _moved(used, there, len(visits)))
        for place, id_ in enumerate(of):
            by_counters[id_] = _ratio(same.per_cpu_second, place), int(same.per_cpu_second.visits[place])
    rows = [
        UseRow(
            application=names[id_],
            core_seconds=float(found.core_seconds[place]),
            per_cpu_second=_ratio(found.per_cpu_second, place),
            counted=by_counters.get(id_, (None, 0))[0],
            low_confidence=bool(found.per_cpu_second.low_confidence[place]),
            visits=int(found.per_cpu_second.visits[place]),
            counted_visits=by_counters.get(id_, (None, 0))[1],
        )
        for place, id_ in enumerate(ids)
    ]
    rows.sort(key=lambda row: (-row.core_seconds, row.application))
    return tuple(rows)


def _used_up(
    visits: MachineVisits, loads: Sequence[MachineLoad | CountedLoad], used: TimeUsed
) -> tuple[list[int], ApplicationLoad]:
    """Ids of the applications of these visits, and the capacity that each uses according to these loads."""
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
    return ids.tolist(), found


def _ratio(found: Ratios, place: int) -> Interval:
    return Interval(float(found.value[place]), float(found.lo[place]), float(found.hi[place]))
