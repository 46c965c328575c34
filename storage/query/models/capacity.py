"""The request rate that a service could serve, from its rate and the load of its machines step by step (DIGEST A7).

The caller gives the rate, for example from the service's load balancer. The load is the fleet's own: by CPU
utilisation, which predicts too much if cores have two threads, and by APU.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.errors import NotEstimable
from analysis.smt.capacity import Capacity, forecast
from analysis.smt.fleet import of_both, of_cluster
from storage.arrays import Int64
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.answers.capacity import CapacityAnswer, ForecastAnswer, StepRow
from storage.query.answers.figures import Interval, figure
from storage.query.answers.inputs import Inputs, Unavailable, left_out
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.models.apu import coefficient
from storage.query.models.machine_loads import (
    MOST_UNCOUNTED,
    CoreTimes,
    MachineLoads,
    machine_loads,
    no_load,
    not_counted,
    read_core_times,
)
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.steps import Steps, steps
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_STEPS = 1_000
_MOST_RATE = 1e15


@dataclass(frozen=True, slots=True)
class Forecasts:
    """The forecasts, each or the reason why it is missing, and the steps that they are computed from."""

    by_utilisation: Capacity | Unavailable
    by_apu: Capacity | Unavailable
    """By APU from the operating systems' times."""
    by_hardware: Capacity | Unavailable
    """By APU from counters of cycles."""
    counted: bool
    """At least nine of ten visits with an APU have one by counters."""
    steps: tuple[StepRow, ...]
    step_s: int
    coefficients: tuple[Calibration, ...]
    """Overlap coefficients used."""
    left_out: Mapping[str, int]
    """Visits without an APU, by cause."""
    inputs: Inputs
    unavailable: Unavailable | None
    """The reason if all forecasts are missing."""


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """The request rate at which the selection's machines would be full."""

    selection: Selection
    rates: tuple[float | None, ...]
    """Requests per second of all these machines together: the mean of each step, in order; None: unknown."""
    step_s: int = 3600
    full: float = 1.0
    """Load at which the machines are full, 0…1."""
    coefficient: float | None = None
    """Overlap coefficient of platforms without one of their own."""

    def answer(self, reading: StoreReading) -> CapacityAnswer:
        """The answer. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        found = self.forecasts(reading)
        return CapacityAnswer(
            selection=machine_selection_echo(self.selection),
            step_seconds=found.step_s,
            full=self.full,
            by_utilisation=_forecast(found.by_utilisation),
            by_apu=_forecast(found.by_apu),
            by_hardware=_forecast(found.by_hardware),
            rows=found.steps,
            coefficients=tuple(map(coefficient, found.coefficients)),
            left_out=left_out(found.left_out),
            inputs=found.inputs,
            because=found.unavailable,
        )

    def forecasts(self, reading: StoreReading, times: CoreTimes | None = None) -> Forecasts:
        """The forecasts; `times` are those of the selection if the caller has read them.

        Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
        """
        over = _steps(self)
        times = times or read_core_times(reading, self.selection)
        # Utilisation needs no counters and no coefficient: with 1, every measure of a core is its utilisation.
        plain = machine_loads(reading, replace(times, cycles=None), 1.0, calibrated=False)
        weighed = machine_loads(reading, times, self.coefficient)
        drawn_at = reading.visit_times(self.selection).of(plain.visits.id)
        step = over.of(drawn_at)
        of_utilisation, of_apu = (_by_step(found, step, over.count) for found in (plain, weighed))
        of_hardware = _by_step(weighed, step, over.count, by_counters=True)
        counts = np.bincount(step[plain.there], minlength=over.count).tolist()
        rows = tuple(
            StepRow(
                from_=format_time(over.time(number)),
                rate=rate,
                utilisation=figure(utilisation),
                apu=figure(apu),
                hardware_apu=figure(hardware),
                visits=counts[number],
            )
            for number, (rate, utilisation, apu, hardware) in enumerate(
                zip(self.rates, of_utilisation, of_apu, of_hardware, strict=True)
            )
        )
        by_utilisation = no_load(plain) or self._fit(of_utilisation)
        by_apu = no_load(weighed) or self._fit(of_apu)
        uncounted = no_load(weighed) or _uncounted(weighed)
        by_hardware = uncounted or self._fit(of_hardware)
        return Forecasts(
            by_utilisation,
            by_apu,
            by_hardware,
            uncounted is None,
            rows,
            over.step_s,
            weighed.coefficients,
            dict(weighed.left_out),
            inputs_of(plain.visits.coverage, len(plain.visits), len(plain.there)),
            _none(by_utilisation, by_apu, by_hardware),
        )

    def _fit(self, loads: list[Interval | None]) -> Capacity | Unavailable:
        pairs = [
            (rate, load.value)
            for rate, load in zip(self.rates, loads, strict=True)
            if rate is not None and load is not None
        ]
        try:
            return forecast([rate for rate, _ in pairs], [load for _, load in pairs], self.full)
        except NotEstimable as error:
            return Unavailable(error.reason, str(error))


def _forecast(found: Capacity | Unavailable) -> ForecastAnswer:
    if isinstance(found, Unavailable):
        return ForecastAnswer(None, None, None, None, None, None, None, found)
    return ForecastAnswer(
        limit=figure(found.limit),
        intercept=found.intercept,
        slope=found.slope,
        r2=found.r2,
        observations=found.observations,
        reach=found.reach,
        curved=found.curved,
        because=None,
    )


def _steps(question: CapacityQuestion) -> Steps:
    if any(matcher.label == APPLICATION for matcher in question.selection.matchers):
        raise BadSelection(
            "Applications share cores. Select the serving machines by cluster or by machine.",
            parameter="select",
        )
    if not 0 < question.full <= 1:
        raise BadSelection("full must be a share above 0, at most 1.", hint="full=0.9", parameter="full")
    if any(rate is not None and not 0 <= rate <= _MOST_RATE for rate in question.rates):
        raise BadSelection("A request rate must be finite and at least 0.", parameter="rates")
    over = steps(question.selection, MOST_STEPS, question.step_s)
    if len(question.rates) != over.count:
        raise BadSelection(
            f"The time range has {over.count:,} steps of {over.step_s:,} s from "
            f"{over.time(0):%Y-%m-%dT%H:%MZ} on, but there are {len(question.rates):,} rates.",
            hint="Give one rate for each step, in order; leave unknown rates empty: 812,,640.",
            parameter="rates",
        )
    return over


def _none(*forecasts: Capacity | Unavailable) -> Unavailable | None:
    """The first reason if no forecast exists."""
    why = [found for found in forecasts if isinstance(found, Unavailable)]
    return why[0] if len(why) == len(forecasts) else None


def _uncounted(found: MachineLoads) -> Unavailable | None:
    """The reason why counters do not represent the serving machines' load; None: they do."""
    without = found.not_counted.total()
    if (why := not_counted(found)) is not None or without <= MOST_UNCOUNTED * len(found.there):
        return why
    reason, _ = found.not_counted.most_common(1)[0]
    return Unavailable(
        "too_little",
        f"{without} of {len(found.there)} visits have no APU by counters. Most frequent reason: "
        f"{reason}. The load of the other visits does not represent the serving machines. Select a "
        "platform whose machines count.",
    )


def _by_step(
    found: MachineLoads, step: Int64, count: int, *, by_counters: bool = False
) -> list[Interval | None]:
    """The APU of all machines in each step; with `by_counters`, of the visits that have it by counters."""
    visits, weights = found.visits, found.visits.weights
    loads: list[Interval | None] = [None] * count
    if weights is None:
        return loads
    there = found.there
    there = there[visits.group[there] >= 0]
    if by_counters:
        there = np.array([place for place in there.tolist() if found.counted[place] is not None], np.int64)
    for number in np.unique(step[there]).tolist():
        query_budget.checkpoint()
        here = there[step[there] == number]
        at = (visits.weight[here], visits.group[here], weights)
        system = [load for load in (found.loads[place] for place in here.tolist()) if load is not None]
        counted = [load for load in (found.counted[place] for place in here.tolist()) if load is not None]
        seconds = visits.seconds[here]
        of = (
            of_both(*at, counted=counted, system=system, seconds=seconds)
            if by_counters
            else of_cluster(*at, loads=system, seconds=seconds)
        ).apu
        loads[number] = Interval(float(of.value[0]), float(of.lo[0]), float(of.hi[0]))
    return loads
