"""Sums over the visits of applications from which their dependence on frequency follows (DIGEST D1, D2).

Visits of one weight that vary together are a cell. Sums of different visits stand one after the other: of ten thousand machines over
a week they are read in parts, and what a part brought is not kept.
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
"""Fourth powers of it can still be added up."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Visits of the same weight in the same variance group, as one."""

    weight: Float
    """(C,), as in `moments.from_visits`."""
    group: Int
    of: Int
    """Each visit's cell; (V,)."""


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
    """Columns over pairs of an application and a cell, of which several may be of the same."""

    application: Int
    cell: Int
    visits: Float
    timed: Float
    """Visits that saw CPU time."""
    missed: Float
    """Visits that saw misses."""
    seconds: Float
    """CPU time, as seen; the rest is at the base frequency."""
    off: Float
    """Seconds that misses took, as the next three."""
    off2: Float
    """Σ off², likewise below."""
    off4: Float
    on_chip: Float
    both: Float
    """On the chip and off it."""
    both2: Float
    off_both: Float

    def __len__(self) -> int:
        return len(self.application)

    def of(self, keep: Bool | Int) -> "VisitSums":
        """Some of them."""
        return VisitSums(**{each.name: getattr(self, each.name)[keep] for each in fields(self)})


def together(parts: Sequence[VisitSums]) -> VisitSums:
    """The sums of different visits, at least one of them."""
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
    """The sums of pairs of a visit (its place in `cells.of`) and an application (any number ≥ 0), each once; (P,) each.

    `seconds` ≥ 0: its CPU time in the visit; `hertz`: the mean frequency while it ran (cycles ÷ seconds); `latency_s`: of a miss on the
    visit's platform. Both time and misses may be estimates by samples: in a visit of few samples misses may take longer than the time,
    as what is asked of the sums is a ratio of them. Raises NotANumber, BadShape.
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
    """One application's dependence on frequency, by its sums; visits are clusters.

    Raises InsufficientData, and Contradictory where the misses of all visits would have taken longer than all the time, or leave no cycles
    on the chip.
    """
    visits = round(float(found.visits.sum()))
    enough("visits with this application's counters", visits, 2)
    enough("visits with CPU time of this application", round(float(found.timed.sum())), 1)
    weight = cells.weight[found.cell]
    if float(weight @ found.off) >= float(weight @ found.seconds):
        raise Contradictory(
            "Misses one after another would have taken longer than all the time: they overlap, or the latency is wrong."
        )
    if float(weight @ found.on_chip) <= 0:
        raise Contradictory(
            "Misses would have taken longer than the time of visits at high frequencies, so much that nothing is left on the chip:"
            " they overlap, or the latency is wrong."
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
