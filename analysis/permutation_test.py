"""A permutation test of differences: visits are permuted between two selections within strata.

Every visit of a selection holds a *slot*: the side (a or b) and the mean weight there. A permutation reassigns the
slots of a stratum at random; a visit in both selections only swaps its own two. Rows with a clearly large p-value drop
out early (Besag and Clifford's sequential p-values stay valid), so that many permutations are spent only where they
matter. The interval contains the differences that the same test does not reject.
Sources: docs/numbers.md; Chung and Romano, Annals of Statistics 41 (2013); Pauly, Asendorf, Konietschke, Biometrical
Journal 58 (2016), for intervals by inverting studentised permutation tests; Besag and Clifford, Biometrika 78 (1991).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.special import gammaln

from analysis.arrays import Bool, Float, Int, sums
from analysis.pool_rows import PoolRows
from analysis.visit_table import VisitTable

FEWEST_SHUFFLES = 1_000
"""For any row: an interval needs the tails, even if chance explains the difference."""
_ENOUGH_EXCEEDANCES = 40
"""Permutations as extreme as the observation after which a row's p-value is known well enough: ± 16 %."""
_TAIL = 25
"""A tail is fitted to the largest statistics, one in this many."""
_LARGEST_BLOCK = 1 << 19
"""Visits × permutations of a block: 4 MB per array."""
_FEWEST_VISITS = 3
"""Minimum visits with a row for any statement about it."""
_CLOSE = 1e-9
"""Statistics with a smaller relative difference are equal: summation order affects the last digits."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The visits of both selections, concatenated: D = a.visits + b.visits."""

    y: coo_array
    """Units of each row and visit, > 0; (R, D)."""
    x: Float
    side: Bool
    """True: in b."""
    slot: Float
    """Mean weight of visits of its side and stratum, which any visit in its place receives."""
    factor: Float
    """The visit's weight relative to its slot, which moves with it: it depends on how rare its utilisation class is."""
    stratum: Int
    """Permutation group; -1: not permuted."""
    partner: Int
    """For visits on both sides the index of their other entry, else -1."""


def pool(a: VisitTable, b: VisitTable) -> Pool:
    """The visits of both selections.

    Strata that only one side has are permuted together if both sides have such; otherwise they stay fixed. Visits of
    different strata are not exchangeable, but a canary of 30 visits seldom covers the smallest strata.
    """
    stratum = np.concatenate([a.stratum, b.stratum])
    partner = np.full(len(stratum), -1, np.int64)
    _, of_a, of_b = np.intersect1d(a.key, b.key, assume_unique=True, return_indices=True)
    partner[of_a], partner[a.visits + of_b] = a.visits + of_b, of_a
    side = np.arange(len(stratum)) >= a.visits
    alone = partner < 0
    common = np.intersect1d(stratum[alone & ~side], stratum[alone & side])
    dealt = np.where(alone & np.isin(stratum, common), np.searchsorted(common, stratum), -1)
    rest = alone & (dealt < 0)
    if (rest & side).any() and (rest & ~side).any():
        dealt[rest] = len(common)
    weight = np.concatenate([a.weight / (a.weight @ a.x), b.weight / (b.weight @ b.x)])
    slot = np.where(dealt >= 0, _mean_of(2 * dealt + side, weight), weight)
    return Pool(
        y=coo_array(
            (
                np.concatenate([a.y, b.y]),
                (np.concatenate([a.row, b.row]), np.concatenate([a.visit, a.visits + b.visit])),
            ),
            shape=(a.rows, a.visits + b.visits),
        ),
        x=np.concatenate([a.x, b.x]),
        side=side,
        slot=slot,
        factor=np.divide(weight, slot, out=np.ones(len(slot)), where=slot > 0),
        stratum=dealt,
        partner=partner,
    )


def _mean_of(number: Int, values: Float) -> Float:
    """For each value the mean of all values with the same number; numbers from -2 on."""
    counted, size = number + 2, int(number.max(initial=-2)) + 3
    means: Float = sums(counted, values, size) / np.maximum(np.bincount(counted, minlength=size), 1)
    return means[counted]


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Observed differences of R rows and their permutation distribution, for both p-values and intervals."""

    delta: Float
    """Share in a minus share in b; (R,)."""
    error: Float
    """Its standard error; (R,)."""
    statistics: tuple[tuple[Int, Float], ...]
    """Disjoint groups of rows, and their studentised differences in n permutations, (r, n)."""
    least: Float
    """Probability of the observed assignment of the visits with a row; 1 for fewer than three such visits; (R,)."""

    @property
    def p(self) -> Float:
        """Two-sided p-values; 1 for rows in fewer than three visits."""
        p = np.ones(len(self.delta))
        seen = _studentised(self.delta, self.error)
        for rows, found in self.statistics:
            p[rows] = np.minimum(_above(found, seen[rows]), _above(-found, -seen[rows]))
        return np.asarray(np.minimum(1.0, 2 * np.maximum(p, self.least)), np.float64)

    def interval(self, wrong: float) -> tuple[Float, Float]:
        """The differences that the test does not reject at `wrong`, its two-sided error rate; (R,) each.

        The interval excludes 0 exactly if p ≤ `wrong`. As the statistics are studentised, their distribution applies to
        any difference. Infinite if the visits have too few distinct permutations to reject any difference at `wrong`.
        """
        lo, hi = np.full(len(self.delta), -np.inf), np.full(len(self.delta), np.inf)
        for rows, found in self.statistics:
            delta, error = self.delta[rows], self.error[rows]
            above, below = _critical(found, wrong / 2), _critical(-found, wrong / 2)
            some = error > 0
            lo[rows] = delta - np.multiply(above, error, out=np.full(len(rows), np.inf), where=some)
            hi[rows] = delta + np.multiply(below, error, out=np.full(len(rows), np.inf), where=some)
        untestable = 2 * self.least > wrong
        return np.where(untestable, -np.inf, lo), np.where(untestable, np.inf, hi)


def test(visits: Pool, shuffles: int, random: np.random.Generator) -> Shuffled:
    """The observed differences and those in `shuffles` permutations, or a thousand if chance clearly explains a row."""
    rows = PoolRows.of(visits.y, visits.x)
    delta, error = (
        one[:, 0] for one in _differences(rows, *sides(visits, np.arange(len(visits.x))[None, :]))
    )
    least = _least(visits)
    active = np.flatnonzero(least < 1)
    rows = rows.take(least < 1)
    found = _shuffled(visits, rows, min(shuffles, FEWEST_SHUFFLES), random)
    seen = _studentised(delta, error)[active]
    n = found.shape[1]
    extreme = np.minimum(_above(found, seen), _above(-found, -seen)) * (n + 1)
    unsure = extreme <= _ENOUGH_EXCEEDANCES
    groups = [(active[~unsure], found[~unsure])]
    if unsure.any():
        more = _shuffled(visits, rows.take(unsure), shuffles - n, random)
        groups.append((active[unsure], np.concatenate([found[unsure], more], axis=1)))
    return Shuffled(delta, error, tuple(groups), least)


def _shuffled(visits: Pool, rows: PoolRows, count: int, random: np.random.Generator) -> Float:
    """Studentised differences of the rows in `count` permutations; (R, count)."""
    found = np.zeros((rows.count, count))
    block = max(1, _LARGEST_BLOCK // max(len(visits.x), 1))
    for first in range(0, count, block) if rows.count else ():
        some = min(block, count - first)
        found[:, first : first + some] = _studentised(
            *_differences(rows, *sides(visits, deals(visits, some, random)))
        )
    return found


def _least(visits: Pool) -> Float:
    """Probability that a permutation leaves the visits with a row on their sides, for each row.

    It bounds the p-value from below. A row in one visit allows no conclusion, yet its studentised difference is the
    same in nearly every permutation, because only the denominator of the shares varies. When another row had really
    changed, the one visit's row was called changed, too. For 10 visits against 1000 the probability is small even so
    (0.01 that the visit is among the 10), so rows in one or two visits have 1.
    """
    row, visit = visits.y.coords
    rows, stratum = visits.y.shape[0], visits.stratum[visit]
    strata, dealt = int(visits.stratum.max(initial=-1)) + 1, stratum >= 0
    n, n_a = (
        np.bincount(visits.stratum[(visits.stratum >= 0) & there], minlength=strata)
        for there in (True, ~visits.side)
    )
    k, k_a = (
        np.bincount(row[there] * strata + stratum[there], minlength=rows * strata).reshape(rows, strata)
        for there in (dealt, dealt & ~visits.side[visit])
    )
    log = (_log_choose(n - k, n_a - k_a) - _log_choose(n, n_a)).sum(axis=1)
    # A visit on both sides counts once for a row, whichever of its entries has it.
    other = visits.partner[visit]
    paired = other >= 0
    places = len(visits.x)
    both = np.unique(row[paired].astype(np.int64) * places + np.minimum(visit, other)[paired])
    pairs = np.bincount(both // places, minlength=rows)
    alone = np.bincount(row[~paired], minlength=rows)
    least = np.exp(log - pairs * np.log(2.0))
    return np.asarray(np.where(alone + pairs < _FEWEST_VISITS, 1.0, least), np.float64)


def _log_choose(n: Int, k: Int) -> Float:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), np.float64)


def _above(statistics: Float, seen: Float) -> Float:
    """Probability of `seen` or more by the permutations, beyond most of them by the exponential tail; (R, n), (R,)."""
    count = (statistics >= (seen - _CLOSE * np.maximum(np.abs(seen), 1.0))[:, None]).sum(axis=1)
    p = (count + 1) / (statistics.shape[1] + 1)
    share, start, excess = _tail(statistics)
    beyond = np.divide(seen - start, excess, out=np.zeros(len(seen)), where=excess > 0)
    by_tail = np.where(beyond > 0, share * np.exp(-np.maximum(beyond, 0)), 1.0)
    return np.asarray(np.minimum(p, by_tail), np.float64)


def _critical(statistics: Float, wrong: float) -> Float:
    """The statistic from which on `_above` is at most `wrong`, ≥ 0, for each row; ∞ for too few permutations."""
    rows, n = statistics.shape
    critical = np.full(rows, np.inf)
    if (more := int(wrong * (n + 1) * (1 + _CLOSE)) - 1) >= 0 and rows:
        largest = np.partition(statistics, n - 1 - more, axis=1)[:, n - 1 - more]
        critical = largest + _CLOSE * np.maximum(np.abs(largest), 1.0)
    share, start, excess = _tail(statistics)
    by_tail = start + excess * max(np.log(share / wrong), 0.0) if share > 0 else critical
    return np.maximum(np.where(excess > 0, np.minimum(critical, by_tail), critical), 0.0)


def _tail(statistics: Float) -> tuple[float, Float, Float]:
    """Share of the permutations in each row's tail, the tail's beginning and its mean excess; excess 0 without a tail.

    The mean excess of the largest values over the next smaller one defines an exponential tail. It falls more slowly
    than that of a normal distribution, so p-values are rather too large than too small.
    """
    rows, n = statistics.shape
    most = n // _TAIL
    if not rows or not most:
        return 0.0, np.zeros(rows), np.zeros(rows)
    largest = -np.partition(-statistics, most, axis=1)[:, : most + 1]
    start = largest.min(axis=1)
    excess = (largest - start[:, None]).sum(axis=1) / most
    # If one visit differs, every permutation has the same statistic: a tail fitted to its rounding gave q < 0.001.
    return most / n, start, np.where(excess > _CLOSE * np.maximum(np.abs(start), 1.0), excess, 0.0)


def deals(visits: Pool, count: int, random: np.random.Generator) -> Int:
    """For each permutation the slot that each visit receives; (count, D)."""
    d = len(visits.x)
    slot = np.broadcast_to(np.arange(d), (count, d)).copy()
    for stratum in range(int(visits.stratum.max(initial=-1)) + 1):
        members = np.flatnonzero(visits.stratum == stratum)
        slot[:, members] = members[np.argsort(random.random((count, len(members)), np.float32), axis=1)]
    first = np.flatnonzero((visits.partner >= 0) & ~visits.side)
    if len(first):
        second = visits.partner[first]
        swapped = random.random((count, len(first))) < 0.5
        slot[:, first] = np.where(swapped, second, first)
        slot[:, second] = np.where(swapped, first, second)
    return slot


def sides(visits: Pool, slot: Int) -> tuple[Float, Float]:
    """Weights of the visits in a and in b after each permutation, 0 where they are absent; (D, count) each."""
    slot = np.ascontiguousarray(slot.T)
    weight, side = visits.slot[slot] * visits.factor[:, None], visits.side[slot]
    return np.where(side, 0.0, weight), np.where(side, weight, 0.0)


def _differences(rows: PoolRows, in_a: Float, in_b: Float) -> tuple[Float, Float]:
    """Difference of shares of each row in each permutation, and its standard error; (R, count) each."""
    p_a, v_a = rows.shares(in_a)
    p_b, v_b = rows.shares(in_b)
    return p_a - p_b, np.sqrt(v_a + v_b)


def _studentised(delta: Float, error: Float) -> Float:
    return np.divide(delta, error, out=np.zeros_like(error), where=error > 0)
