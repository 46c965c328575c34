"""A weighted line fit over visits, with a jackknife interval over clusters of visits.

Source: Wolter, Introduction to Variance Estimation (2007), chapter 4.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.dvfs.terms import Terms
from analysis.errors import Constant
from analysis.measured import Measured

ROUNDING = 1e-12
"""Relative size of a variance that is only rounding."""
DEGREES = 2.0
"""Degrees of freedom per contributing cluster. Simulated: if a tenth of 40 to 60 machines is slow, intervals cover
93 to 94 %; with 4, as for shares, 91 to 93; if balanced, they cover 94 to 96."""
STEP = 1.05
"""Frequencies up to this factor above the lowest one of a step belong to it."""


def steps_of(hertz: Float) -> Int:
    """The step of each frequency, from 0 for the lowest; a step has frequencies up to 5 % above its first one."""
    ordered = np.sort(hertz)
    first, at = [], 0
    while at < len(ordered):
        first.append(ordered[at])
        at = int(np.searchsorted(ordered, ordered[at] * STEP, "right"))
    return np.asarray(np.searchsorted(np.array(first), hertz, "right") - 1, np.int64)


@dataclass(frozen=True, slots=True)
class Line:
    """s = a·g + b (+ c·u …) over visits, with a + b = 1: the line passes through the weighted mean, the unit."""

    weight: Float
    """Weighted instructions of each visit as a share of all."""
    columns: Float
    """Middle frequency over the visit's, with mean 1; 1; and each varying load, standardised; (V, k)."""
    s: Float
    """Seconds per instruction over their mean; mean 1."""
    middle_hz: float
    unit_s: float

    @classmethod
    def of(cls, instructions: Float, hertz: Float, seconds: Float, load: Float | None) -> "Line":
        """The line of visits; `instructions` are weighted."""
        weight = instructions / instructions.max()
        weight = weight / weight.sum()
        middle = float(1 / (weight @ (1 / hertz)))
        unit = float(weight @ seconds)
        columns = [middle / hertz, np.ones(len(hertz))]
        for each in () if load is None else load.T:
            away = each - float(weight @ each)
            spread = float(np.sqrt(weight @ away**2))
            if spread > ROUNDING * float(each.max()):
                columns.append(away / spread)
        return cls(weight, np.column_stack(columns), seconds / unit, middle, unit)

    def sums(self, of: Int, count: int) -> "LineSums":
        """The normal equations' sums, by `of`, 0…count−1."""
        terms = range(self.columns.shape[1])
        weighed = self.columns * self.weight[:, None]
        squares = [[sums(of, weighed[:, i] * self.columns[:, j], count) for j in terms] for i in terms]
        right = [sums(of, weighed[:, i] * self.s, count) for i in terms]
        return LineSums(np.moveaxis(np.array(squares), 2, 0), np.array(right).T)


@dataclass(frozen=True, slots=True)
class LineSums:
    """Weighted sums of products of the columns, and of the columns with s, of n lines."""

    squares: Float
    """(n, k, k)."""
    right: Float
    """(n, k)."""

    def whole(self) -> "LineSums":
        """The total as one line."""
        return LineSums(self.squares.sum(axis=0, keepdims=True), self.right.sum(axis=0, keepdims=True))

    def others(self) -> "LineSums":
        """For each line the sum of all others."""
        whole = self.whole()
        return LineSums(whole.squares - self.squares, whole.right - self.right)

    def solved(self) -> Float:
        """The coefficients, (n, k); NaN where a column does not vary independently of the others."""
        found = np.full(self.right.shape, np.nan)
        each = np.linalg.eigvalsh(self.squares)
        there = each[:, 0] > ROUNDING * each[:, -1]
        if there.any():
            found[there] = np.linalg.solve(self.squares[there], self.right[there][:, :, None])[:, :, 0]
        return found


@dataclass(frozen=True, slots=True)
class Jackknife:
    """The line with its jackknife uncertainty."""

    terms: Terms
    share: Measured
    contributing: float
    """Effective number of clusters: as many with equal contributions would be equally informative."""

    @property
    def width(self) -> float:
        """Width of the share's interval; ∞ if unbounded."""
        return self.share.hi - self.share.lo


def jackknife(line: Line, step: Int, cluster: Int) -> Jackknife:
    """Fit the line, with the interval of b as a share of a + b; `step` and `cluster` are ids by visit, (V,) each.

    Raises Constant if hardly any instruction ran at another frequency than the others.
    """
    different, of = np.unique(cluster, return_inverse=True)
    count = len(different)
    each = line.sums(of.reshape(-1), count)
    found = each.whole().solved()[0]
    share = float(found[1])
    if not np.isfinite(share):
        raise Constant(
            "Frequencies hardly vary, or only with the load of machines, so their own effect cannot "
            "be estimated."
        )
    moved = each.others().solved()
    if not (np.isfinite(moved).all() and _steps_stay(step, of.reshape(-1), count)):
        # A single machine is judged by its visits; of several, one that is alone at its frequency gives no bound.
        nothing = Terms(found[:2], np.zeros((2, 2)), 0)
        width, says = (0.0, np.inf) if count < 2 else (np.inf, 0.0)
        return Jackknife(nothing, Measured(share, share - width, share + width), says)
    moved = moved[:, :2] - moved[:, :2].mean(axis=0)
    by_share = moved[:, 1] - share * moved.sum(axis=1)
    squares, fourth = float((by_share**2).sum()), float((by_share**4).sum())
    contributing = squares**2 / fourth if fourth > 0 else float(count)
    df = min(max(DEGREES * contributing, 1.0), max(count - 2.0, 1.0))
    terms = Terms(found[:2], (count - 1) / count * moved.T @ moved, df)
    return Jackknife(terms, terms.ratio([0.0, 1.0], [1.0, 1.0]), contributing)


def _steps_stay(step: Int, cluster: Int, clusters: int) -> bool:
    """Whether at least two steps remain without any one cluster."""
    steps = int(step.max()) + 1
    here = np.zeros((clusters, steps), np.bool_)
    here[cluster, step] = True
    left: Bool = here.sum(axis=0)[None, :] - here > 0
    return bool((left.sum(axis=1) >= 2).all())
