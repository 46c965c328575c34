"""Compares the cost of serving requests on two machine types, by utilisation and by APU (DIGEST A7, A8).

APU comes from counters of cycles if both types have them in nine of ten visits, else from the operating systems' times
for both. The two ways disagree if threads are not busy independently of each other, so both types are always measured
in the same way.

The types are two platforms. If the request rates of a machine of each are given, both types are compared at equal
load, whatever their traffic. Without rates, the caller must ensure that machines of both types get equal traffic, for
example from a balancer that spreads it evenly. The selection gives the machines and the time.
"""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from analysis.errors import NotEstimable
from analysis.measured import Measured
from analysis.smt.capacity import Capacity
from analysis.smt.machine_choice import Choice, MachineType, choose
from analysis.smt.served_work import ServedWork, compare
from storage.errors import BadSelection
from storage.query.answers.figures import Interval
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.answers.machine_types import MachineTypesAnswer, TypeRow
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.apu import MOST_ROWS, ApuQuestion, CoreLoads, coefficient
from storage.query.models.capacity import CapacityQuestion, Forecasts
from storage.query.models.compared_types import (
    Comparison,
    apu_of,
    compared_loads,
    compared_work,
    type_row,
)
from storage.query.models.load_rows import LoadRow
from storage.query.models.machine_loads import MOST_UNCOUNTED, CoreTimes, read_core_times
from storage.query.selections.matchers import Matcher, Operator
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

_PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class MachineRates:
    """The work that one machine of each type served, step by step."""

    old: tuple[float | None, ...]
    """Requests per second: the mean over machines of the type in each step, in order; None: unknown."""
    new: tuple[float | None, ...]
    step_s: int = 3600
    full: float = 1.0
    """Load at which the types are compared, 0…1."""


@dataclass(frozen=True, slots=True)
class Served:
    """The capacity of each type, and both compared by each measure of load, or the reason why not."""

    old: Forecasts
    new: Forecasts
    by_utilisation: ServedWork | Unavailable
    by_apu: ServedWork | Unavailable
    """By counters if `counted`, else from the operating systems' times."""

    @property
    def counted(self) -> bool:
        """Both types have counters of cycles in nine of ten visits."""
        return self.old.counted and self.new.counted

    @property
    def unavailable(self) -> Unavailable | None:
        """The reason if neither comparison exists."""
        neither = isinstance(self.by_utilisation, Unavailable) and isinstance(self.by_apu, Unavailable)
        return self.by_utilisation if neither and isinstance(self.by_utilisation, Unavailable) else None


@dataclass(frozen=True, slots=True)
class MachineTypesQuestion:
    """Two platforms that serve the same requests, with the price of a machine of each in any currency."""

    selection: Selection
    old: str
    new: str
    old_price: float
    new_price: float
    coefficient: float | None = None
    """Overlap coefficient of a platform without one of its own."""
    rates: MachineRates | None = None
    """None: machines of both types get equal traffic in this selection."""

    def answer(self, reading: StoreReading) -> MachineTypesAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        for name, price in (("old_price", self.old_price), ("new_price", self.new_price)):
            if not (price > 0 and isfinite(price)):
                raise BadSelection("The price of a machine must be above 0.", parameter=name)
        if self.old == self.new:
            raise BadSelection("Name two different machine types.", parameter="new")
        times = read_core_times(reading, self.selection)
        found = ApuQuestion(self.selection, _PLATFORM, self.coefficient, MOST_ROWS).loads(reading, times)
        rows = {row.value: row for row in found.loads}
        old, new = rows.get(self.old), rows.get(self.new)
        if self.rates is not None:
            served = self.served(reading, times, self.rates)
            comparison = compared_work(served.by_utilisation, served.by_apu)
            of_types = (
                type_row(self.old, self.old_price, old, served.old, counted=served.counted),
                type_row(self.new, self.new_price, new, served.new, counted=served.counted),
            )
            return self._answer(found, of_types, comparison, served.unavailable, counted=served.counted)
        counted = _counted(old) and _counted(new)
        choice = self._choice(found, old, new, counted=counted)
        unavailable = choice if isinstance(choice, Unavailable) else None
        comparison = compared_loads(choice if isinstance(choice, Choice) else None)
        of_types = (
            type_row(self.old, self.old_price, old, None, counted=counted),
            type_row(self.new, self.new_price, new, None, counted=counted),
        )
        return self._answer(found, of_types, comparison, unavailable, counted=counted)

    def _answer(
        self,
        found: CoreLoads,
        of_types: tuple[TypeRow, TypeRow],
        comparison: Comparison,
        unavailable: Unavailable | None,
        *,
        counted: bool,
    ) -> MachineTypesAnswer:
        rates = self.rates
        return MachineTypesAnswer(
            selection=machine_selection_echo(self.selection),
            basis="equal_traffic" if rates is None else "request_rates",
            full=None if rates is None else rates.full,
            step_seconds=None if rates is None else rates.step_s,
            apu_basis=None if unavailable is not None else "counters" if counted else "operating_system",
            **comparison,
            rows=tuple(row for row in of_types if row.visits),
            coefficients=tuple(map(coefficient, found.coefficients)),
            left_out=left_out(found.left_out),
            inputs=found.inputs,
            because=unavailable,
        )

    def _choice(
        self, found: CoreLoads, old: LoadRow | None, new: LoadRow | None, *, counted: bool
    ) -> Choice | Unavailable:
        if found.unavailable is not None:
            return found.unavailable
        if old is None or new is None:
            gone = self.old if old is None else self.new
            return Unavailable(
                "too_little",
                f"No visit of {gone} has an APU; the reasons are listed with the visits left out.",
            )
        try:
            return choose(
                _type(self.old_price, old, counted=counted), _type(self.new_price, new, counted=counted)
            )
        except NotEstimable as error:
            return Unavailable(error.reason, str(error))

    def served(self, reading: StoreReading, times: CoreTimes, rates: MachineRates) -> Served:
        """The types at equal load; `times` are those of the selection. Raises as `answer`."""
        forecasts = []
        names = np.array(times.visits.names[_PLATFORM], np.str_)
        for parameter, platform, of in (
            ("old_rates", self.old, rates.old),
            ("new_rates", self.new, rates.new),
        ):
            only = Matcher(_PLATFORM, Operator.EQUAL, platform)
            machines = replace(self.selection, matchers=(*self.selection.matchers, only))
            question = CapacityQuestion(
                machines, rates=of, step_s=rates.step_s, full=rates.full, coefficient=self.coefficient
            )
            try:
                is_one = (names == platform)[times.visits.values[_PLATFORM]]
                forecasts.append(question.forecasts(reading, times.of(is_one)))
            except BadSelection as error:
                if error.parameter == "rates":
                    error.parameter = parameter
                raise
        old, new = forecasts
        by_utilisation = self._compared(old.by_utilisation, new.by_utilisation)
        if old.counted and new.counted:
            return Served(old, new, by_utilisation, self._compared(old.by_hardware, new.by_hardware))
        return Served(old, new, by_utilisation, self._compared(old.by_apu, new.by_apu))

    def _compared(self, old: Capacity | Unavailable, new: Capacity | Unavailable) -> ServedWork | Unavailable:
        if isinstance(old, Unavailable):
            return Unavailable(old.reason, f"{self.old}: {old.detail}")
        if isinstance(new, Unavailable):
            return Unavailable(new.reason, f"{self.new}: {new.detail}")
        try:
            return compare(self.old_price, old, self.new_price, new)
        except NotEstimable as error:
            return Unavailable(error.reason, str(error))


def _counted(row: LoadRow | None) -> bool:
    """Nine of ten visits of the type have counters of cycles."""
    known = row.counted if row is not None else None
    return row is not None and known is not None and row.visits - known.visits <= MOST_UNCOUNTED * row.visits


def _type(price: float, row: LoadRow, *, counted: bool) -> MachineType:
    return MachineType(price, _measured(row.utilisation), _measured(apu_of(row, counted=counted)))


def _measured(found: Interval) -> Measured:
    return Measured(found.value, found.lo, found.hi)
