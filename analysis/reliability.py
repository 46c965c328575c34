"""How far a profile can be trusted as a whole: entropy, distance, and how it converges.

* Entropy H = −Σ p·ln p over a profile's entries stays the same between representative profiles (DIGEST G25).
* The Manhattan distance Σ|p_x − p_y| over the top k entries of x says what varies (DIGEST G26); 0…2.
* The distance of a random subset of visits from the fleet falls with its N samples, in the end as C/√N; the curve tells
  how many samples, and at so many a visit how many visits, a wanted distance needs (DIGEST G27; `convergence`).

The fleet's profile is not known; that of the other visits is. A subset with a share f of the visits differs from the
others as a profile with 1 − f of its samples would from the fleet's, as both vary: N(1 − f) is where its point lies.

Of many visits the curve is fitted to a random part, always the same one: its shape does not depend on how many there are.
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
"""Visits below which no subset says anything about the rest."""
_REPEATS = 16
_LEAST_REPEATS = 16
_JACKKNIFE = 20
"""Groups of visits, each left out once."""
_MOST_VISITS = 4096
"""C is fitted to: its jackknife takes thousands of random subsets of them."""
_MOST_PAIRS = 400_000
"""Entries of these visits' profiles together …"""
_ENOUGH_VISITS = 64
"""… unless that were fewer visits than these."""
_SPLIT = 20_000_000
"""Entries that are added up, at least, to split the visits into halves again and again."""
_NOTHING = 1e-9
"""A distance below it is what rounding leaves of 0."""


@dataclass(frozen=True, slots=True)
class Convergence:
    """The fit of distances by samples."""

    curve: Curve
    constant: Measured
    """C of the law C/√N through the present: the distance now × √samples."""
    samples: Float
    """N of each point: mean samples of the random subsets, less the share of the visits that these are."""
    distance: Float
    """M of each point: their mean distance from the other visits."""
    samples_per_visit: float
    visits: int
    """That have the selection: those that `samples_per_visit` is a mean of."""

    @property
    def exponent(self) -> float:
        """Slope of the curve now, on logarithms: near −0.5 where the law holds."""
        return self.curve.slope(self.samples_now)

    @property
    def samples_now(self) -> float:
        """Samples of all visits that have the selection."""
        return self.visits * self.samples_per_visit

    def distance_with(self, samples: float) -> Measured:
        """The distance from the fleet to be expected of a profile with so many samples > 0."""
        value = self.curve.distance(samples)
        c = self.constant
        return Measured(value, value * c.lo / c.value, value * c.hi / c.value) if c.value > 0 else c

    def samples_needed(self, distance: float) -> float:
        """Samples by which a profile comes as near as `distance` (0…2) to the fleet's."""
        return self.curve.samples(distance)

    def visits_needed(self, distance: float) -> float:
        """Visits with the selection that bring these samples, as many each as the present ones did."""
        return self.samples_needed(distance) / self.samples_per_visit


def entropy(shares: Float) -> float:
    """Entropy of shares ≥ 0, in nats: 0 for one entry, ln n for n equal ones. They need not add up to 1."""
    whole = float(shares.sum())
    return float(special.entr(shares / whole).sum()) if whole > 0 else 0.0


def manhattan(one: Float, other: Float, top: int | None = None) -> float:
    """Distance of two profiles over the `top` entries of the first (all for None): 0 alike … 2 nothing in common."""
    places = np.argsort(-one, kind="stable")[:top]
    return float(np.abs(one[places] - other[places]).sum())


def seen_by(table: VisitTable) -> Int:
    """The visits that have a weighted unit of any row, ascending: only they say what the profile is."""
    weighted = sums(table.visit, table.weight[table.visit] * table.y, table.visits)
    return np.flatnonzero(weighted > 0)


def entropy_of(table: VisitTable) -> Measured:
    """Entropy of the visits' profile, with its jackknife interval; [value, value] of a single visit."""
    profiles = _profiles(table)
    whole = np.asarray(profiles.sum(axis=0), np.float64).ravel()
    value = entropy(whole)
    without = [entropy(np.maximum(whole - part, 0.0)) for part in _parts(table, profiles)]
    found = _jackknifed(value, without)
    return replace(found, lo=max(found.lo, 0.0))


def halves(table: VisitTable, seed: int, top: int | None = None) -> Measured:
    """Distance of two random halves of the visits: what chance alone makes of two equal profiles.

    The mean of several splits, fewer where they cost more; the interval is what 95 % of splits lie in.
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
    """The fit for the visits that have any row, `samples` each; None with fewer than 8: too few to split.

    Points are subsets of 1/2, 1/4, … of the visits, down to four visits. C is 0 where all show the same.
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
    """Places in `among` of the visits to fit C to: the first by a hash of their keys, as many as are affordable.

    One that ingests later changes little: the others stay in the order they had.
    """
    pairs = np.bincount(table.visit, minlength=table.visits)[among]
    order = np.argsort(scattered(table.key[among]), kind="stable")
    fit = int(np.searchsorted(np.cumsum(pairs[order]), _MOST_PAIRS, side="right"))
    return np.sort(order[: min(max(fit, _ENOUGH_VISITS), _MOST_VISITS)])


def _points(
    profiles: sparse.csr_array, among: Int, samples: Float, seed: int, top: int | None
) -> tuple[Float, Float]:
    """Points of random subsets of 1/2, 1/4, … of `among`, as in `Convergence`, where neither coordinate is 0."""
    random = np.random.default_rng(seed)
    mine = profiles[among]
    units = np.asarray(mine.sum(axis=1), np.float64).ravel()
    whole = np.asarray(mine.sum(axis=0), np.float64).ravel()
    whole /= whole.sum()
    entries = np.argsort(-whole, kind="stable")[:top]
    found: list[tuple[float, float]] = []
    size = len(among) // 2
    # 8 visits less one of the jackknife's groups have one point
    least = min(_LEAST_VISITS // 2, size)
    while size >= least:
        inside = np.zeros((_REPEATS, len(among)))
        for row in inside:
            row[random.permutation(len(among))[:size]] = 1
        shares = _shares_of(inside, mine)
        # A subset and the others differ by what it and the whole do ÷ the others' share of the whole.
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
    """The jackknife's, from the constants `of` some of the visits; on logarithms.

    On C itself where it is 0 without one of the groups: that is so when a single visit differs from the others,
    as that of the first canary. The interval then begins at 0.
    """
    every = np.arange(visits)
    without = np.array([of(np.setdiff1d(every, left_out)) for left_out in _groups(visits)])
    if np.any(without <= 0):
        found = _jackknifed(constant, without.tolist())
        return replace(found, lo=max(found.lo, 0.0))
    found = _jackknifed(float(np.log(constant)), np.log(without).tolist())
    return Measured(constant, float(np.exp(found.lo)), float(np.exp(found.hi)))


def _profiles(table: VisitTable) -> sparse.csr_array:
    """Weighted units of each visit (rows) and entry (columns)."""
    values = table.weight[table.visit] * table.y
    return sparse.csr_array((values, (table.visit, table.row)), shape=(table.visits, table.rows))


def _shares_of(inside: Float, profiles: sparse.csr_array) -> Float:
    """Shares of the entries in each set of visits; (sets, R)."""
    found: Float = np.asarray(inside @ profiles, np.float64)
    whole = found.sum(axis=1, keepdims=True)
    return found / np.where(whole > 0, whole, 1.0)


def _groups(visits: int) -> list[Int]:
    """Every visit in one of the jackknife's groups, as equal as possible; a fixed shuffle, so none is a time of day."""
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
