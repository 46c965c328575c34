"""Reliability of a profile as a whole: entropy, distance, and convergence.

* Entropy H = −Σ p·ln p over a profile's entries is equal for representative profiles (DIGEST G25).
* The Manhattan distance Σ|p_x − p_y| over the top k entries of x shows what varies (DIGEST G26); 0…2.
* The distance of a random subset of visits from the fleet falls with its N samples, finally as C/√N. The curve gives
  the number of samples, and at a given number per visit the number of visits, for a wanted distance (DIGEST G27;
  `convergence`).

The fleet's profile is unknown; that of the other visits is known. A subset with a share f of the visits differs from
the others as a profile with 1 − f of its samples would from the fleet's, since both vary: its point is at N(1 − f).

For many visits the curve is fitted to a fixed random part, since its shape does not depend on their number.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, special

from analysis import confidence
from analysis.arrays import Float, Int, sums
from analysis.convergence import Curve, fit
from analysis.measured import Measured
from analysis.visit_table import VisitTable, scattered

_LEAST_VISITS = 8
"""Minimum visits for comparing subsets."""
_REPEATS = 16
_LEAST_REPEATS = 16
_JACKKNIFE = 20
"""Groups of visits, each left out once."""
_MOST_VISITS = 4096
"""Visits that C is fitted to: its jackknife takes thousands of random subsets of them."""
_MOST_PAIRS = 400_000
"""Total entries of these visits' profiles …"""
_ENOUGH_VISITS = 64
"""… but at least this many visits."""
_SPLIT = 20_000_000
"""Minimum entries to process over all repeated splits of the visits into halves."""
_NOTHING = 1e-9
"""Smaller distances are 0 apart from rounding."""


@dataclass(frozen=True, slots=True)
class Convergence:
    """The fit of distances as a function of samples."""

    curve: Curve
    constant: Measured
    """C of the law C/√N through the present: the distance now × √samples."""
    samples: Float
    """N of each point: mean samples of the random subsets, reduced by their share of the visits."""
    distance: Float
    """M of each point: their mean distance from the other visits."""
    samples_per_visit: float
    visits: int
    """Visits with the selection, of which `samples_per_visit` is the mean."""

    @property
    def exponent(self) -> float:
        """Log-log slope of the curve now: near −0.5 where the law holds."""
        return self.curve.slope(self.samples_now)

    @property
    def samples_now(self) -> float:
        """Samples of all visits with the selection."""
        return self.visits * self.samples_per_visit

    def distance_with(self, samples: float) -> Measured:
        """The expected distance from the fleet of a profile with this many samples > 0."""
        value = self.curve.distance(samples)
        c = self.constant
        return Measured(value, value * c.lo / c.value, value * c.hi / c.value) if c.value > 0 else c

    def samples_needed(self, distance: float) -> float:
        """Samples that a profile needs for this distance (0…2) from the fleet's."""
        return self.curve.samples(distance)

    def visits_needed(self, distance: float) -> float:
        """Visits with the selection that have these samples, at the present mean per visit."""
        return self.samples_needed(distance) / self.samples_per_visit


def entropy(shares: Float) -> float:
    """Entropy of shares ≥ 0, in nats: 0 for one entry, ln n for n equal ones. They need not add up to 1."""
    whole = float(shares.sum())
    return float(special.entr(shares / whole).sum()) if whole > 0 else 0.0


def manhattan(one: Float, other: Float, top: int | None = None) -> float:
    """Distance of two profiles over the `top` entries of the first (None: all): 0 equal … 2 nothing in common."""
    places = np.argsort(-one, kind="stable")[:top]
    return float(np.abs(one[places] - other[places]).sum())


def seen_by(table: VisitTable) -> Int:
    """The visits with a weighted unit of any row, ascending; only these determine the profile."""
    weighted = sums(table.visit, table.weight[table.visit] * table.y, table.visits)
    return np.flatnonzero(weighted > 0)


def entropy_of(table: VisitTable) -> Measured:
    """Entropy of the visits' profile, with its jackknife interval; [value, value] for a single visit."""
    profiles = _profiles(table)
    whole = np.asarray(profiles.sum(axis=0), np.float64).ravel()
    value = entropy(whole)
    without = [entropy(np.maximum(whole - part, 0.0)) for part in _parts(table, profiles)]
    found = _jackknifed(value, without)
    return replace(found, lo=max(found.lo, 0.0))


def halves(table: VisitTable, seed: int, top: int | None = None) -> Measured:
    """Distance of two random halves of the visits: the effect of chance on two equal profiles.

    The mean of several splits, fewer if they cost more; the interval contains 95 % of the splits.
    """
    profiles = _profiles(table)
    random = np.random.default_rng(seed)
    cost = len(table.y) + table.visits
    distances = np.zeros(max(_LEAST_REPEATS, min(4 * _REPEATS, _SPLIT // max(cost, 1))))
    sides = np.zeros((2, table.visits))
    for number in range(len(distances)):
        sides[0] = 0
        sides[0, random.permutation(table.visits)[: table.visits // 2]] = 1
        sides[1] = 1 - sides[0]
        one, other = _shares_of(sides, profiles)
        distances[number] = manhattan(one, other, top)
    lo, hi = np.quantile(distances, confidence.tails())
    return Measured(float(distances.mean()), float(lo), float(hi))


def converge(table: VisitTable, samples: Float, seed: int, top: int | None = None) -> Convergence | None:
    """The fit for the visits with any row, with `samples` each; None for fewer than 8, which are too few to split.

    Points are subsets of 1/2, 1/4, … of the visits, down to four visits. C is 0 if all visits are equal.
    """
    seen = seen_by(table)
    if len(seen) < _LEAST_VISITS or not samples[seen].sum() > 0:
        return None
    part = seen[_part(table, seen)]
    profiles, of_part = _profiles(table.of(part)), samples[part]
    members, distances = _points(profiles, np.arange(len(part)), of_part, seed, top)
    curve = fit(members, distances)
    now = float(samples[seen].sum())
    constant = curve.distance(now) * float(np.sqrt(now))
    measured = Measured(0.0, 0.0, 0.0)
    if constant > 0:

        def constant_of(among: Int) -> float:
            return fit(*_points(profiles, among, of_part, seed, top)).distance(now) * float(np.sqrt(now))

        measured = _constant_interval(constant, constant_of, len(part))
    return Convergence(
        curve=curve,
        constant=measured,
        samples=members,
        distance=distances,
        samples_per_visit=now / len(seen),
        visits=len(seen),
    )


def _part(table: VisitTable, among: Int) -> Int:
    """Indexes in `among` of the visits to fit C to: the first by a hash of their keys, as many as are affordable.

    A newly ingested visit changes little, since the others keep their order.
    """
    pairs = np.bincount(table.visit, minlength=table.visits)[among]
    order = np.argsort(scattered(table.key[among]), kind="stable")
    fit = int(np.searchsorted(np.cumsum(pairs[order]), _MOST_PAIRS, side="right"))
    return np.sort(order[: min(max(fit, _ENOUGH_VISITS), _MOST_VISITS)])


def _points(
    profiles: sparse.csr_array, among: Int, samples: Float, seed: int, top: int | None
) -> tuple[Float, Float]:
    """Points of random subsets of 1/2, 1/4, … of `among`, as in `Convergence`, without those with a coordinate of 0."""
    random = np.random.default_rng(seed)
    mine = profiles[among]
    units = np.asarray(mine.sum(axis=1), np.float64).ravel()
    whole = np.asarray(mine.sum(axis=0), np.float64).ravel()
    whole /= whole.sum()
    entries = np.argsort(-whole, kind="stable")[:top]
    found: list[tuple[float, float]] = []
    size = len(among) // 2
    # 8 visits minus one jackknife group have one point
    least = min(_LEAST_VISITS // 2, size)
    while size >= least:
        inside = np.zeros((_REPEATS, len(among)))
        for row in inside:
            row[random.permutation(len(among))[:size]] = 1
        shares = _shares_of(inside, mine)
        # Distance of subset and others = distance of subset and whole ÷ the others' share of the whole.
        apart = np.abs(shares[:, entries] - whole[entries]).sum(axis=1)
        distance = float((apart / (1 - inside @ units / units.sum())).mean())
        taken = inside @ samples[among]
        alone = float((taken * (1 - taken / samples[among].sum())).mean())
        if distance > _NOTHING and alone > 0:
            found.append((alone, distance))
        size //= 2
    points = np.array(found).reshape(-1, 2)
    return points[:, 0], points[:, 1]


def _constant_interval(constant: float, of: Callable[[Int], float], visits: int) -> Measured:
    """The jackknife interval on logarithms, from the constants `of` subsets of the visits.

    If C is 0 without one of the groups, the interval is on C itself and begins at 0. That is the case if a single visit
    differs from the others, for example that of the first canary.
    """
    every = np.arange(visits)
    without = np.array([of(np.setdiff1d(every, left_out)) for left_out in _groups(visits)])
    if np.any(without <= 0):
        found = _jackknifed(constant, without.tolist())
        return replace(found, lo=max(found.lo, 0.0))
    found = _jackknifed(float(np.log(constant)), np.log(without).tolist())
    return Measured(constant, float(np.exp(found.lo)), float(np.exp(found.hi)))


def _profiles(table: VisitTable) -> sparse.csr_array:
    """Weighted units by visit (rows) and entry (columns)."""
    values = table.weight[table.visit] * table.y
    return sparse.csr_array((values, (table.visit, table.row)), shape=(table.visits, table.rows))


def _shares_of(inside: Float, profiles: sparse.csr_array) -> Float:
    """Shares of the entries in each set of visits; (sets, R)."""
    found: Float = np.asarray(inside @ profiles, np.float64)
    whole = found.sum(axis=1, keepdims=True)
    return found / np.where(whole > 0, whole, 1.0)


def _groups(visits: int) -> list[Int]:
    """The jackknife's groups of visits, of nearly equal size; a fixed shuffle, so that no group is a time of day."""
    shuffled = np.random.default_rng(0).permutation(visits)
    return [np.sort(part) for part in np.array_split(shuffled, min(_JACKKNIFE, visits))]


def _parts(table: VisitTable, profiles: sparse.csr_array) -> list[Float]:
    return [np.asarray(profiles[group].sum(axis=0), np.float64).ravel() for group in _groups(table.visits)]


def _jackknifed(value: float, without: list[float]) -> Measured:
    """The interval from values computed without each group in turn."""
    groups = len(without)
    if groups < 2:
        return Measured(value, value, value)
    spread = np.asarray(without) - np.mean(without)
    error = float(np.sqrt((groups - 1) / groups * (spread @ spread)))
    t = confidence.student(groups - 1)
    return Measured(value, value - t * error, value + t * error)
