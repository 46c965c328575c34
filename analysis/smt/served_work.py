"""Which of two machine types serves requests for less money, by how many each serves at the same load (DIGEST A7, A8).

DIGEST A8 compares loads under equal traffic, which somebody must have arranged. Where the request rate of a machine of each type is
known, nothing need be equal: a line through rates and loads of each type says at what rate its machines have a given load, and the
ratio of these two rates is how many old machines a new one replaces. A stress test measures the same ratio, at a load of 1.
Each rate has Fieller's interval of one new observation (`analysis.smt.capacity`), which is wider than that of the line alone; the
interval of the ratio is made of both as of independent measurements, since each type has machines of its own.
"""

from dataclasses import dataclass

from analysis.input_checks import positive
from analysis.measured import Measured, given, quotient
from analysis.smt.capacity import Capacity
from analysis.smt.machine_choice import Advice, advice


@dataclass(frozen=True, slots=True)
class ServedWork:
    """Two machine types at the same load, by one measure of load."""

    ratio: Measured
    """Requests of a new machine ÷ those of an old one: machines of the old type that one of the new replaces."""
    price_ratio: float
    """new ÷ old."""
    old_price: Measured
    """Price of a machine for each request per second that it serves at this load, in the currency of the prices."""
    new_price: Measured
    advice: Advice
    curved: bool
    """The points of one type bend: a line is the wrong shape, and a stress test must decide."""


def compare(old_price: float, old: Capacity, new_price: float, new: Capacity) -> ServedWork:
    """The comparison at the load that both forecasts are of; rates are of one machine. Raises NotANumber."""
    prices = positive("price of the old type", old_price), positive("price of the new type", new_price)
    price_ratio = prices[1] / prices[0]
    ratio = quotient(new.limit, old.limit)
    return ServedWork(
        ratio=ratio,
        price_ratio=price_ratio,
        old_price=quotient(given(prices[0]), old.limit),
        new_price=quotient(given(prices[1]), new.limit),
        advice=advice(ratio, price_ratio),
        curved=old.curved or new.curved,
    )
