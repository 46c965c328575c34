"""How many requests a service could serve: its request rate against the load of its machines, step by step (DIGEST A7).

The rate comes from whoever balances the service; the load is the fleet's own, by CPU utilisation, which foresees too much where cores
have two threads, and by APU beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from analysis.errors import CannotSay
from analysis.smt.capacity import Capacity, forecast
from analysis.smt.fleet import of_cluster
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.arrays import Int64
from storage.query.models.machine_loads import MachineLoads, machine_loads, no_load, read_core_times
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.machines import APPLICATION
from storage.query.reader import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.steps import Steps, steps
from storage.query.weighing.estimates import Interval

MOST_STEPS = 1_000
_MOST_RATE = 1e15


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One step of time."""

    start: datetime
    rate: float | None
    """Requests per second; None: not given."""
    utilisation: Interval | None
    """Of logical CPUs, 0…1; None: no visit of the step has it."""
    apu: Interval | None
    visits: int


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """Both forecasts, each or why there is none, and the steps that they are made of."""

    by_utilisation: Capacity | Unsaid
    by_apu: Capacity | Unsaid
    steps: tuple[LoadStep, ...]
    step_s: int
    coefficients: tuple[Calibration, ...]
    """Overlap coefficients that were used."""
    left_out: Mapping[str, int]
    """Visits without an APU, by why."""
    inputs: Inputs
    unsaid: Unsaid | None
    """Why there is neither."""


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """The rate at which the selection's machines would be full."""

    selection: Selection
    rates: tuple[float | None, ...]
    """Requests per second of all these machines together, a mean for each step, in order; None: not known."""
    step_s: int = 3600
    full: float = 1.0
    """Load at which nothing more is served, 0…1."""
    coefficient: float | None = None
    """Overlap coefficient of platforms that have none of their own."""

    def answer(self, reading: Reading) -> CapacityAnswer:
        """The forecasts. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        over = _steps(self)
        # Utilisation asks for no coefficient: with 1 every measure of a core is its utilisation.
        times = read_core_times(reading, self.selection)
        plain = machine_loads(reading, times, 1.0, calibrated=False)
        weighed = machine_loads(reading, times, self.coefficient)
        drawn_at = reading.visit_times(self.selection).of(plain.visits.id)
        step = over.of(drawn_at)
        of_utilisation, of_apu = (_by_step(found, step, over.count) for found in (plain, weighed))
        counts = np.bincount(step[plain.there], minlength=over.count).tolist()
        rows = tuple(
            LoadStep(over.time(number), rate, of_utilisation[number], load, counts[number])
            for number, (rate, load) in enumerate(zip(self.rates, of_apu, strict=True))
        )
        by_utilisation = no_load(plain) or self._forecast(of_utilisation)
        by_apu = no_load(weighed) or self._forecast(of_apu)
        neither = isinstance(by_utilisation, Unsaid) and isinstance(by_apu, Unsaid)
        return CapacityAnswer(
            by_utilisation,
            by_apu,
            rows,
            over.step_s,
            weighed.coefficients,
            dict(weighed.left_out),
            Inputs(plain.visits.coverage, len(plain.visits), len(plain.there)),
            by_utilisation if neither and isinstance(by_utilisation, Unsaid) else None,
        )

    def _forecast(self, loads: list[Interval | None]) -> Capacity | Unsaid:
        pairs = [
            (rate, load.value)
            for rate, load in zip(self.rates, loads, strict=True)
            if rate is not None and load is not None
        ]
        try:
            return forecast([rate for rate, _ in pairs], [load for _, load in pairs], self.full)
        except CannotSay as error:
            return Unsaid(error.reason, str(error))


def _steps(question: CapacityQuestion) -> Steps:
    if any(matcher.label == APPLICATION for matcher in question.selection.matchers):
        raise BadSelection(
            "Cores are shared by applications: match the machines that serve, by cluster or by machine.",
            parameter="select",
        )
    if not 0 < question.full <= 1:
        raise BadSelection("Load is full at a share of 0 to 1.", hint="full=0.9", parameter="full")
    if any(rate is not None and not 0 <= rate <= _MOST_RATE for rate in question.rates):
        raise BadSelection("A request rate is 0 or more, and finite.", parameter="rates")
    over = steps(question.selection, MOST_STEPS, question.step_s)
    if len(question.rates) != over.count:
        raise BadSelection(
            f"{over.count:,} steps of {over.step_s:,} s make this time, from {over.time(0):%Y-%m-%dT%H:%MZ} on; "
            f"{len(question.rates):,} rates were given.",
            hint="Give one for each step, in order; leave those out that are not known: 812,,640.",
            parameter="rates",
        )
    return over


def _by_step(found: MachineLoads, step: Int64, count: int) -> list[Interval | None]:
    """The APU of all machines in each step."""
    visits, weights = found.visits, found.visits.weights
    loads: list[Interval | None] = [None] * count
    if weights is None:
        return loads
    there = found.there
    there = there[visits.group[there] >= 0]
    for number in np.unique(step[there]).tolist():
        here = there[step[there] == number]
        of = of_cluster(
            visits.weight[here],
            visits.group[here],
            weights,
            loads=[load for load in (found.loads[place] for place in here.tolist()) if load is not None],
            seconds=visits.seconds[here],
        ).apu
        loads[number] = Interval(float(of.value[0]), float(of.lo[0]), float(of.hi[0]))
    return loads
