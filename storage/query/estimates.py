"""From what visits brought to what the fleet did: shares and totals with their intervals (DESIGN §4)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis import estimate, moments
from analysis.moments import Moments
from storage.query.by_visit import ByVisit
from storage.query.samples import Samples


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
    few: bool
    """Too few visits contribute for a narrow interval to be honest; it was widened."""
    effective: float
    """Independent samples that would say as much about the share."""


def moments_of(samples: Samples, found: ByVisit) -> Moments | None:
    """The moments of some rows; None: the visits are no random sample."""
    weights = samples.design.weights
    if weights is None:
        return None
    counted = samples.group >= 0
    number = np.cumsum(counted) - 1
    pairs = counted[found.visit]
    return moments.from_visits(
        samples.weight[counted],
        samples.group[counted],
        weights,
        x=samples.selected[counted].astype(np.float64),
        row=found.row[pairs],
        visit=number[found.visit[pairs]],
        y=found.units[pairs].astype(np.float64),
        rows=found.rows,
    )


def estimates(found: Moments) -> list[Estimate]:
    """The estimates of all rows of these moments."""
    shares, totals = estimate.shares(found), estimate.totals(found)
    few = np.where(found.y > 0, shares.few, False)
    return [
        Estimate(Interval(*share), Interval(*units), bool(is_few), effective)
        for share, units, is_few, effective in zip(
            _rows(shares), _rows(totals), few.tolist(), shares.effective.tolist(), strict=True
        )
    ]


def whole(samples: Samples) -> Interval | None:
    """What `focus` and `ignore` left of the selection, in the fleet's units; None: no random sample."""
    units = samples.by_visit
    visits = np.flatnonzero(units)
    found = moments_of(samples, ByVisit(np.zeros(len(visits), np.int64), visits, units[visits], 1))
    return None if found is None else estimates(found)[0].units


def _rows(found: estimate.Estimates) -> Iterator[tuple[float, float, float]]:
    return zip(found.value.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True)
