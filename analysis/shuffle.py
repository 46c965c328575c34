"""p-values by shuffling visits between two selections, within strata.

Every visit of a selection holds a *slot*: the side (a or b) and the mean weight there. A shuffle deals the
slots of a stratum out again at random; a visit of both selections only swaps its own two. Rows whose p-value is
plainly large drop out early (Besag and Clifford's sequential p-values stay valid), so that
many shuffles are spent only where they decide something. Sources: docs/numbers.md; Chung and Romano, Annals of
Statistics 41 (2013); Besag and Clifford, Biometrika 78 (1991).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.special import gammaln

from analysis.arrays import Bool, Float, Int, sums
from analysis.pool_rows import PoolRows
from analysis.visit_table import VisitTable

_ENOUGH_EXCEEDANCES = 40
"""Shuffles as extreme as what was seen after which a row's p-value is known well enough: ± 16 %."""
_TAIL = 200
"""Largest statistics that a tail is fitted to."""
_LARGEST_BLOCK = 1 << 19
"""Visits × shuffles of a block: 4 MB an array."""
_FEWEST_VISITS = 3
"""That show a row of which anything can be said."""
_CLOSE = 1e-9
"""Statistics nearer than this share are equal: sums in another order differ in their last digits."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The visits of both selections, one after the other: D = a.visits + b.visits of them."""

    y: coo_array
    """Units of each row and visit, > 0; (R, D)."""
    x: Float
    side: Bool
    """True: of b."""
    slot: Float
    """Mean weight of visits of its side and stratum: what another visit gets in its place."""
    factor: Float
    """What the visit weighs beyond that, wherever it goes: its utilisation class was seen more seldom."""
    stratum: Int
    """What is dealt together; -1 for what is not dealt."""
    partner: Int
    """For visits of both sides the place of their other half, else -1."""


def pool(a: VisitTable, b: VisitTable) -> Pool:
    """Both selections' visits.

    Strata that only one of them has are dealt together, if both have such; else those stay where they are: visits
    of different strata are not exchangeable, and a canary of 30 visits seldom meets the smallest strata.
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
    """The mean of all values with the same number, for each of them; numbers from -2 on."""
    counted, size = number + 2, int(number.max(initial=-2)) + 3
    means: Float = sums(counted, values, size) / np.maximum(np.bincount(counted, minlength=size), 1)
    return means[counted]


def p_values(visits: Pool, shuffles: int, random: np.random.Generator) -> Float:
    """Two-sided p-values of the rows; 1 for those that fewer than three visits show."""
    rows = PoolRows.of(visits.y, visits.x)
    count = visits.y.shape[0]
    seen = _statistics(rows, *sides(visits, np.arange(len(visits.x))[None, :]))[:, 0]
    slack = _CLOSE * np.maximum(np.abs(seen), 1.0)
    below, above, done = np.zeros(count), np.zeros(count), np.zeros(count)
    least = _least(visits)
    active = np.flatnonzero(least < 1)
    rows = rows.take(least < 1)
    found = np.zeros((len(active), 0))
    block = max(1, min(shuffles, _LARGEST_BLOCK // max(len(visits.x), 1)))
    left = shuffles
    while left and len(active):
        now = min(block, left)
        left -= now
        new = _statistics(rows, *sides(visits, deals(visits, now, random)))
        below[active] += (new <= (seen + slack)[active, None]).sum(axis=1)
        above[active] += (new >= (seen - slack)[active, None]).sum(axis=1)
        done[active] += now
        unsure = np.minimum(below, above)[active] < _ENOUGH_EXCEEDANCES
        active, found = active[unsure], np.concatenate([found, new], axis=1)[unsure]
        if not unsure.all():
            rows = rows.take(unsure)
    p = (np.minimum(below, above) + 1) / (done + 1)
    upward = above[active] <= below[active]
    p[active] = np.minimum(p[active], _tail(np.where(upward, 1, -1)[:, None] * found, np.abs(seen[active])))
    return np.asarray(np.minimum(1.0, 2 * np.maximum(p, least)), np.float64)


def _least(visits: Pool) -> Float:
    """Chance that a shuffle leaves the visits that show a row on the sides where they are, for each row.

    No p-value may be smaller. A row that one visit shows says nothing, yet its studentised difference is the
    same in nearly every shuffle: what was left to vary was the whole that shares are taken of, and when
    another row had really changed, the one visit's row was called changed too. Of 10 visits against 1000 that
    chance is small even so (0.01 for the one visit to be among the 10), so rows of one or two visits have 1.
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
    # A visit of both sides shows a row once, whichever of its halves does.
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


def _tail(statistics: Float, seen: Float) -> Float:
    """Chance of `seen` or more, where few or none of the shuffled statistics reach it; 1 where many do.

    The mean excess of the largest ones over the one below them makes an exponential tail, which falls more
    slowly than that of a normal distribution: p-values are too large rather than too small.
    """
    rows, shuffles = statistics.shape
    if not rows or shuffles <= _TAIL:
        return np.ones(rows)
    largest = -np.partition(-statistics, _TAIL, axis=1)[:, : _TAIL + 1]
    start = largest.min(axis=1)
    excess = (largest - start[:, None]).sum(axis=1) / _TAIL
    beyond = np.divide(seen - start, excess, out=np.zeros(rows), where=excess > 0)
    return np.where((beyond > 0) & (excess > 0), _TAIL / shuffles * np.exp(-np.maximum(beyond, 0)), 1.0)


def deals(visits: Pool, count: int, random: np.random.Generator) -> Int:
    """For each shuffle the slot that each visit gets; (count, D)."""
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
    """Weights of the visits in a and in b after each shuffle, 0 where they are not in it; (D, count) each."""
    slot = np.ascontiguousarray(slot.T)
    weight, side = visits.slot[slot] * visits.factor[:, None], visits.side[slot]
    return np.where(side, 0.0, weight), np.where(side, weight, 0.0)


def _statistics(rows: PoolRows, in_a: Float, in_b: Float) -> Float:
    """Studentised difference of shares of each row in each shuffle; (R, count)."""
    p_a, v_a = rows.shares(in_a)
    p_b, v_b = rows.shares(in_b)
    error = np.sqrt(v_a + v_b)
    return np.divide(p_a - p_b, error, out=np.zeros_like(error), where=error > 0)
