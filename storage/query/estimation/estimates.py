"""Shares and totals of the fleet with their intervals, from moments (docs/numbers.md)."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis import estimate
from analysis.moments import Moments
from storage.query.answers.figures import Interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row's estimates for the fleet."""

    share: Interval
    """Of the whole selection, 0…1."""
    units: Interval
    """In units of the sample type: over all covered time, or a gauge's mean level."""
    low_confidence: bool
    """Whether too few visits contribute for a narrow interval to be correct; it is widened."""


def estimates(found: Moments | None, rows: int) -> Sequence[Estimate | None]:
    """The estimates of all rows of these moments; Nones without moments, when the visits are no random sample.

    A row is also None if no upper limit is known, because no visit observed the selection or the event that contains
    it.
    """
    return [None] * rows if found is None else estimates_of_all([found])[0]


def estimates_of_all(parts: Sequence[Moments]) -> list[Sequence[Estimate | None]]:
    """As `estimates`, for each of several moments: a thousand steps of a series cost hardly more than one."""
    shares, totals = estimate.shares_of_all(parts), estimate.totals_of_all(parts)
    low_confidence = shares.low_confidence & (totals.value > 0)
    rows = [
        None if math.isnan(units[2]) else Estimate(Interval(*share), Interval(*units), is_few)
        for share, units, is_few in zip(_rows(shares), _rows(totals), low_confidence.tolist(), strict=True)
    ]
    ends = np.cumsum([len(part.y) for part in parts]).tolist()
    return [rows[low:high] for low, high in itertools.pairwise([0, *ends])]


def total_of(one: Moments) -> Interval | None:
    """The total of the only row of these moments; None if its upper limit is unknown."""
    ((value, lo, hi),) = _rows(estimate.totals(one))
    return None if math.isnan(hi) else Interval(value, lo, hi)


def _rows(found: estimate.Estimates) -> Iterator[tuple[float, float, float]]:
    return zip(found.value.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True)
