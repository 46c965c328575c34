"""Determines which of two machine types serves the same load for less money (DIGEST A8).

At equal load, one new machine replaces old load / new load old machines. If that ratio is above the ratio of prices,
the new type is worth its price. Utilisation and APU may disagree; then a stress test has to decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from analysis.errors import NotEstimable
from analysis.input_checks import number, positive
from analysis.measured import Measured, quotient


class Advice(StrEnum):
    """The machine type that costs less for the same work."""

    OLD = "old"
    NEW = "new"
    UNCLEAR = "unclear"
    """The ratio's interval contains the price ratio."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A machine type under the load of one service."""

    price: float
    """In any currency, > 0."""
    utilisation: Measured
    """0…1, at the compared load."""
    apu: Measured


@dataclass(frozen=True, slots=True)
class Choice:
    """The results of two measures for two types at equal load."""

    price_ratio: float
    """new ÷ old."""
    utilisation_ratio: Measured
    """old ÷ new: machines of the old type that one of the new type replaces."""
    apu_ratio: Measured
    by_utilisation: Advice
    by_apu: Advice

    @property
    def stress_test(self) -> bool:
        """Whether a stress test must decide: the measures disagree, or APU itself is unclear."""
        return self.by_apu is not self.by_utilisation or self.by_apu is Advice.UNCLEAR


def choose(old: MachineType, new: MachineType) -> Choice:
    """Compare two types at equal load; loads must be above 0. Raises NotANumber."""
    price = positive("price of the new type", new.price) / positive("price of the old type", old.price)
    by_utilisation = _ratio(old.utilisation, new.utilisation)
    by_apu = _ratio(old.apu, new.apu)
    return Choice(price, by_utilisation, by_apu, advice(by_utilisation, price), advice(by_apu, price))


def screen(
    services: Iterable[tuple[str, MachineType, MachineType]],
) -> tuple[list[str], dict[str, NotEstimable]]:
    """Names of services that need a stress test, and reasons for those without a result; given as (name, old, new)."""
    wanted: list[str] = []
    unknown: dict[str, NotEstimable] = {}
    for name, old, new in services:
        try:
            if choose(old, new).stress_test:
                wanted.append(name)
        except NotEstimable as because:
            unknown[name] = because
    return wanted, unknown


def _ratio(old: Measured, new: Measured) -> Measured:
    for load in (old, new):
        positive("load", load.value)
        number("load", load.value, 0, 1)
    return quotient(old, new)


def advice(ratio: Measured, price: float) -> Advice:
    """The cheaper type, if one new machine replaces `ratio` old ones at `price` times the price of one."""
    if ratio.lo > price:
        return Advice.NEW
    return Advice.OLD if ratio.hi < price else Advice.UNCLEAR
