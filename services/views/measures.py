"""Units of a table's numbers, all computed from the API's answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storage.query.answers.table import TableAnswer, TableRow

EVERYTHING = "{}"
"""A selection without matchers in an answer."""
_HOUR_S = 3600
_NOTHING = 1e-6
_NARROW = 0.002


class Measure(StrEnum):
    """The unit of a table's numbers."""

    SHARE = "share"
    SAMPLES = "samples"
    CORE_SECONDS = "core-seconds"
    CORES = "cores"
    MACHINES = "machines"
    MONEY = "money"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, with its interval if it is an estimate; None: unknown."""

    value: float | None
    lo: float | None = None
    hi: float | None = None

    def text(self, measure: Measure) -> tuple[str, str]:
        """The number with its unit, and its interval without one."""
        if self.value is None:
            return "–", ""
        bounds = [self.value] if self.lo is None or self.hi is None else [self.value, self.lo, self.hi]
        if measure is Measure.SHARE:
            # Both ends of a narrow interval would round to the same number, as if it had no width.
            digits = 2 if len(bounds) > 1 and bounds[2] - bounds[1] < _NARROW else 1
            value, *interval = (f"{100 * bound:.{digits}f}" for bound in bounds)
            return f"{value} %", "–".join(interval)
        value, *interval = (_plain(bound, measure) for bound in bounds)
        return value, "–".join(interval)


def figure(
    row: "TableRow", part: str, measure: Measure, answer: "TableAnswer", price_per_core_hour: float | None
) -> Figure:
    """A row's `part` ("self" or "total") in a measure; without a random design as observed.

    The number of machines is unknown with label matchers: shares then refer to a part of the fleet whose machines are
    not counted.
    """
    own, totals = part == "self", answer.totals
    share = (
        Figure(row.self_share, row.self_lo, row.self_hi)
        if own
        else Figure(row.total_share, row.total_lo, row.total_hi)
    )
    match measure:
        case Measure.SHARE:
            return share
        case Measure.SAMPLES:
            return Figure(row.self_samples if own else row.total_samples)
        case Measure.MACHINES:
            everything = answer.selection.select == EVERYTHING
            return _scaled(share, (totals.population or None) if everything else None)
        case _:
            estimate = row.self_core_seconds if own else row.total_core_seconds
            seconds = Figure(None) if estimate is None else Figure(estimate.value, estimate.lo, estimate.hi)
    if measure is Measure.CORE_SECONDS:
        return seconds if estimate is not None else Figure(row.self_seconds if own else row.total_seconds)
    if measure is Measure.CORES:
        return _scaled(seconds, 1 / totals.estimated_seconds if totals.estimated_seconds else None)
    return _scaled(seconds, None if price_per_core_hour is None else price_per_core_hour / _HOUR_S)


def _scaled(figure: Figure, factor: float | None) -> Figure:
    if factor is None or figure.value is None:
        return Figure(None)
    lo, hi = (None if bound is None else bound * factor for bound in (figure.lo, figure.hi))
    return Figure(figure.value * factor, lo, hi)


def _plain(value: float, measure: Measure) -> str:
    if measure is Measure.SAMPLES:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:,.0f}"
    if value < _NOTHING:
        return "0"  # the lower end of one visit's interval was printed as 1.2e-39
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"
