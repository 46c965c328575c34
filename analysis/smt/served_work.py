"""Compares the cost of two machine types by the requests that each serves at the same load (DIGEST A7, A8).

DIGEST A8 compares loads under equal traffic, which requires a controlled experiment. If the request rate per machine is
known for each type, traffic need not be equal: a line through rates and loads of each type gives the rate at a given
load, and the ratio of the two rates is the number of old machines that a new one replaces. A stress test measures the
same ratio at a load of 1. Each rate has Fieller's interval of one new observation (`analysis.smt.capacity`), which is
wider than that of the line alone. The interval of the ratio treats both as independent measurements, since each type
has its own machines.
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
    """Price per request per second that a machine serves at this load, in the currency of the prices."""
    new_price: Measured
    advice: Advice
    curved: bool
    """The points of one type are curved: the line does not fit, and a stress test must decide."""


def compare(old_price: float, old: Capacity, new_price: float, new: Capacity) -> ServedWork:
    """Compare at the load that both forecasts are for; rates are per machine. Raises NotANumber."""
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
