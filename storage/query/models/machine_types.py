"""Which of two machine types serves requests for less money, by utilisation and by APU (DIGEST A7, A8).

APU is by counters of cycles if both types have them in nine of ten visits, else by the operating systems' times of both: the two ways
disagree where threads are not busy independently of each other, so one type is never measured by the one and the other by the other.

The types are two platforms. With the request rates of a machine of each, both are compared at the same load, whatever each was given to
do. Without them, that machines of both get equal traffic, as behind a balancer that spreads it evenly, is for the caller to know: the
selection says which machines and when.
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
from storage.query.estimation.estimates import Interval
from storage.query.models.apu import MOST_ROWS, ApuAnswer, ApuQuestion
from storage.query.models.capacity import CapacityAnswer, CapacityQuestion
from storage.query.models.load_rows import LoadRow
from storage.query.models.machine_loads import MOST_UNCOUNTED, CoreTimes, read_core_times
from storage.query.models.no_answer import Unavailable
from storage.query.selections.matchers import Matcher, Operator
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

_PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class MachineRates:
    """What one machine of each type served, step by step."""

    old: tuple[float | None, ...]
    """Requests per second, a mean over machines of the type in each step, in order; None: not known."""
    new: tuple[float | None, ...]
    step_s: int = 3600
    full: float = 1.0
    """Load at which the types are compared, 0…1."""


@dataclass(frozen=True, slots=True)
class Served:
    """What each type serves, and both compared by each measure of load, or why not."""

    old: CapacityAnswer
    new: CapacityAnswer
    by_utilisation: ServedWork | Unavailable
    by_apu: ServedWork | Unavailable
    """By counters if `counted`, else by the operating systems' times."""

    @property
    def counted(self) -> bool:
        """Both types have counters of cycles in nine of ten visits."""
        return self.old.counted and self.new.counted

    @property
    def unavailable(self) -> Unavailable | None:
        """Why neither measure says anything."""
        neither = isinstance(self.by_utilisation, Unavailable) and isinstance(self.by_apu, Unavailable)
        return self.by_utilisation if neither and isinstance(self.by_utilisation, Unavailable) else None


@dataclass(frozen=True, slots=True)
class MachineTypesAnswer:
    """Both types' loads and what they say, or why they say nothing."""

    apu: ApuAnswer
    """What the loads are made of."""
    old: LoadRow | None
    """None: no visit of it has an APU."""
    new: LoadRow | None
    choice: Choice | None
    """Under equal traffic; None where request rates were given, too."""
    served: Served | None
    """At equal load; None without request rates."""
    counted: bool
    """APU is by counters of cycles; False: by the operating systems' times."""
    unavailable: Unavailable | None

    def apu_of(self, row: LoadRow) -> Interval:
        """The one of a type that is compared."""
        return _apu(row, counted=self.counted)


@dataclass(frozen=True, slots=True)
class MachineTypesQuestion:
    """Two platforms that serve the same requests, with the prices of a machine in any currency."""

    selection: Selection
    old: str
    new: str
    old_price: float
    new_price: float
    coefficient: float | None = None
    """Overlap coefficient of a platform that has none of its own."""
    rates: MachineRates | None = None
    """None: machines of both get equal traffic in this selection."""

    def answer(self, reading: StoreReading) -> MachineTypesAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        for name, price in (("old_price", self.old_price), ("new_price", self.new_price)):
            if not (price > 0 and isfinite(price)):
                raise BadSelection("The price of a machine is above 0.", parameter=name)
        if self.old == self.new:
            raise BadSelection("A machine type is compared with another one.", parameter="new")
        times = read_core_times(reading, self.selection)
        found = ApuQuestion(self.selection, _PLATFORM, self.coefficient, MOST_ROWS).answer(reading, times)
        rows = {row.value: row for row in found.loads}
        old, new = rows.get(self.old), rows.get(self.new)
        if self.rates is not None:
            served = self._served(reading, times, self.rates)
            return MachineTypesAnswer(found, old, new, None, served, served.counted, served.unavailable)
        counted = _counted(old) and _counted(new)
        choice = self._choice(found, old, new, counted=counted)
        if isinstance(choice, Unavailable):
            return MachineTypesAnswer(found, old, new, None, None, counted, choice)
        return MachineTypesAnswer(found, old, new, choice, None, counted, None)

    def _choice(
        self, found: ApuAnswer, old: LoadRow | None, new: LoadRow | None, *, counted: bool
    ) -> Choice | Unavailable:
        if found.unavailable is not None:
            return found.unavailable
        if old is None or new is None:
            gone = self.old if old is None else self.new
            return Unavailable(
                "too_little", f"No visit of {gone} has an APU; why not stands beside those left out."
            )
        try:
            return choose(
                _type(self.old_price, old, counted=counted), _type(self.new_price, new, counted=counted)
            )
        except NotEstimable as error:
            return Unavailable(error.reason, str(error))

    def _served(self, reading: StoreReading, times: CoreTimes, rates: MachineRates) -> Served:
        answers = []
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
                answers.append(question.answer(reading, times.of(is_one)))
            except BadSelection as error:
                if error.parameter == "rates":
                    error.parameter = parameter
                raise
        old, new = answers
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


def _apu(row: LoadRow, *, counted: bool) -> Interval:
    return row.counted.apu if counted and row.counted is not None else row.apu


def _type(price: float, row: LoadRow, *, counted: bool) -> MachineType:
    return MachineType(price, _measured(row.utilisation), _measured(_apu(row, counted=counted)))


def _measured(found: Interval) -> Measured:
    return Measured(found.value, found.lo, found.hi)
