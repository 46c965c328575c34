"""From moments to what answers show: shares and totals of the fleet with their intervals (docs/numbers.md)."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis import estimate
from analysis.moments import Moments


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and where 95 of 100 such intervals have the truth."""

    value: float
    lo: float
    hi: float

    def scaled(self, factor: float) -> "Interval":
        """In other units."""
        return Interval(self.value * factor, self.lo * factor, self.hi * factor)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one row is of the fleet."""

    share: Interval
    """Of the whole selection, 0…1."""
    units: Interval
    """In units of the sample type: all of the covered time's, or a gauge's mean level."""
    low_confidence: bool
    """Too few visits contribute for a narrow interval to be honest; it was widened."""


def estimates(found: Moments | None, rows: int) -> Sequence[Estimate | None]:
    """The estimates of all rows of these moments; Nones without moments: the visits are no random sample.

    None also of a row of which nothing is known, since nobody saw anything of the selection, nor of what it is a part of.
    """
    return [None] * rows if found is None else estimates_of_all([found])[0]


def estimates_of_all(parts: Sequence[Moments]) -> list[Sequence[Estimate | None]]:
    """As `estimates`, of each of several moments: a thousand steps of a series together cost hardly more than one."""
    shares, totals = estimate.shares_of_all(parts), estimate.totals_of_all(parts)
    low_confidence = shares.low_confidence & (totals.value > 0)
    rows = [
        None if math.isnan(units[2]) else Estimate(Interval(*share), Interval(*units), is_few)
        for share, units, is_few in zip(_rows(shares), _rows(totals), low_confidence.tolist(), strict=True)
    ]
    ends = np.cumsum([len(part.y) for part in parts]).tolist()
    return [rows[low:high] for low, high in itertools.pairwise([0, *ends])]


def total_of(one: Moments) -> Interval | None:
    """The total of the only row of these moments; None: how much there is at most is not known."""
    ((value, lo, hi),) = _rows(estimate.totals(one))
    return None if math.isnan(hi) else Interval(value, lo, hi)


def _rows(found: estimate.Estimates) -> Iterator[tuple[float, float, float]]:
    return zip(found.value.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True)
