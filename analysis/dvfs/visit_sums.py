"""Sums over visits from which the frequency dependence of applications is computed (DIGEST D1, D2).

Visits with the same weight and variance group form a cell. Sums of different visits are concatenated: a week of ten
thousand machines is read in parts, and each part's raw data is discarded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from analysis import estimate, moments
from analysis.arrays import Bool, Float, Int, sums
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.errors import BadShape, Contradictory
from analysis.input_checks import enough, numbers, positive, positives
from analysis.measured import Measured
from analysis.weights import Weights

_LONGEST_S = 1e70
"""Its fourth power can still be summed."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Visits with the same weight and variance group."""

    weight: Float
    """(C,), as in `moments.from_visits`."""
    group: Int
    of: Int
    """The cell of each visit; (V,)."""


def cells_of(weight: Float, group: Int) -> Cells:
    """The cells of visits; (V,) each. Raises BadShape."""
    if len(weight) != len(group):
        raise BadShape("Visits need a weight and a group each.")
    weights, which = np.unique(weight, return_inverse=True)
    keys, of = np.unique(group * np.int64(max(len(weights), 1)) + which.reshape(-1), return_inverse=True)
    groups, places = np.divmod(keys, np.int64(max(len(weights), 1)))
    return Cells(weights[places], groups, of.reshape(-1).astype(np.int64))


@dataclass(frozen=True, slots=True)
class VisitSums:
    """Columns over pairs of application and cell; a pair may occur several times."""

    application: Int
    cell: Int
    visits: Float
    timed: Float
    """Visits with CPU time."""
    missed: Float
    """Visits with misses."""
    seconds: Float
    """CPU time as observed; the other columns are at the base frequency."""
    off: Float
    """Seconds spent on misses, also in the next three."""
    off2: Float
    """Σ off²; likewise below."""
    off4: Float
    on_chip: Float
    both: Float
    """On the chip plus off it."""
    both2: Float
    off_both: Float

    def __len__(self) -> int:
        return len(self.application)

    def of(self, keep: Bool | Int) -> "VisitSums":
        """A subset of the rows."""
        return VisitSums(**{each.name: getattr(self, each.name)[keep] for each in fields(self)})


def together(parts: Sequence[VisitSums]) -> VisitSums:
    """Concatenate the sums of different visits; at least one part."""
    return VisitSums(
        **{
            each.name: np.concatenate([getattr(part, each.name) for part in parts])
            for each in fields(VisitSums)
        }
    )


def sum_up(
    cells: Cells,
    *,
    visit: Int,
    application: Int,
    seconds: ArrayLike,
    hertz: ArrayLike,
    misses: ArrayLike,
    latency_s: ArrayLike,
    base_hz: float,
) -> VisitSums:
    """The sums of unique pairs of a visit (its index in `cells.of`) and an application (an integer ≥ 0); (P,) each.

    `seconds` ≥ 0 is its CPU time in the visit; `hertz` the mean frequency while it ran (cycles ÷ seconds); `latency_s`
    the latency of a miss on the visit's platform. Time and misses may be estimates from samples: in a visit with few
    samples misses may exceed the time, since only ratios of the sums are used. Raises NotANumber, BadShape.
    """
    time, frequency, missed = (
        numbers("CPU seconds", seconds, 0),
        positives("frequency in Hz", hertz),
        numbers("misses of the last cache", misses, 0),
    )
    latency = np.broadcast_to(positives("memory latency in s", latency_s), time.shape)
    if not len(visit) == len(application) == len(time) == len(frequency) == len(missed):
        raise BadShape("Pairs need a visit, an application, seconds, a frequency and misses each.")
    base = positive("base frequency in Hz", base_hz)
    off = numbers("seconds that misses take", missed * latency, 0, _LONGEST_S)
    on_chip = (time - off) * frequency / base
    both = numbers("seconds at the base frequency", on_chip + off, -_LONGEST_S, _LONGEST_S)
    count = np.int64(max(len(cells.weight), 1))
    keys, at = np.unique(application * count + cells.of[visit], return_inverse=True)
    at, size = at.reshape(-1).astype(np.int64), len(keys)
    return VisitSums(
        application=keys // count,
        cell=keys % count,
        visits=np.bincount(at, minlength=size).astype(np.float64),
        timed=sums(at, (time > 0).astype(np.float64), size),
        missed=sums(at, (off > 0).astype(np.float64), size),
        seconds=sums(at, time, size),
        off=sums(at, off, size),
        off2=sums(at, off**2, size),
        off4=sums(at, off**4, size),
        on_chip=sums(at, on_chip, size),
        both=sums(at, both, size),
        both2=sums(at, both**2, size),
        off_both=sums(at, off * both, size),
    )


def sensitivity(found: VisitSums, cells: Cells, weights: Weights, base_hz: float) -> FleetSensitivity:
    """The frequency dependence of one application from its sums; visits are clusters.

    Raises InsufficientData, and Contradictory if the misses of all visits take longer than their time or leave no
    cycles on the chip.
    """
    visits = round(float(found.visits.sum()))
    enough("visits with this application's counters", visits, 2)
    enough("visits with CPU time of this application", round(float(found.timed.sum())), 1)
    weight = cells.weight[found.cell]
    if float(weight @ found.off) >= float(weight @ found.seconds):
        raise Contradictory(
            "Misses one after another would take longer than the whole time: they overlap, or the "
            "latency is wrong."
        )
    if float(weight @ found.on_chip) <= 0:
        raise Contradictory(
            "Misses would take longer than the time of visits at high frequencies, so no time "
            "remains on the chip: they overlap, or the latency is wrong."
        )
    seen = np.flatnonzero(found.missed)
    shares = estimate.shares(
        moments.from_sums(
            weight,
            cells.group[found.cell],
            weights,
            x=found.both,
            xx=found.both2,
            cell=seen,
            row=np.zeros(len(seen), np.int64),
            y=found.off[seen],
            yy=found.off2[seen],
            xy=found.off_both[seen],
            yyyy=found.off4[seen],
            visits=found.missed[seen],
            rows=1,
        )
    )
    share = Measured(float(shares.value[0]), float(shares.lo[0]), float(shares.hi[0]))
    return FleetSensitivity(share, base_hz, visits, bool(shares.low_confidence[0]))
