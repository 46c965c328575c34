"""How far a profile can be trusted as a whole: entropy, distance, and how it converges.

* Entropy H = −Σ p·ln p over a profile's entries stays the same between representative profiles (DIGEST G25).
* The Manhattan distance Σ|p_x − p_y| over the top k entries of x says what varies (DIGEST G26); 0…2.
* The distance of a random subset of visits from the whole falls as C/√N with its N samples; C tells how many
  samples, and at so many a visit how many visits, a wanted distance needs: N = (C/M)² (DIGEST G27).

The subset is part of the whole it is compared with, which makes it look nearer than it is to the fleet, by
√(1 − f) for a share f of the visits; the distances are divided by that before C is fitted.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from analysis.arrays import Float, Int
from analysis.visit_table import VisitTable

_LEAST_VISITS = 8
"""Visits below which no subset says anything about the rest."""
_REPEATS = 16
_JACKKNIFE = 20
"""Groups of visits, each left out once."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure and its 95 % interval."""

    value: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Convergence:
    """The fit of distance = C/√N."""

    constant: Measured
    """C, distance × √samples."""
    exponent: float
    """Slope when it is fitted too, on logarithms: near −0.5 where the law holds."""
    samples: Float
    """N of each point: mean samples of the random subsets."""
    distance: Float
    """M of each point: their mean distance from all visits, as if these were another sample."""
    samples_per_visit: float

    def samples_needed(self, distance: float) -> float:
        """Samples by which a profile comes as near as `distance` (0…2) to the fleet's."""
        return (self.constant.value / distance) ** 2

    def visits_needed(self, distance: float) -> float:
        """Visits that bring these samples, as many each as the present ones did."""
        return self.samples_needed(distance) / self.samples_per_visit


def entropy(shares: Float) -> float:
    """Entropy of shares ≥ 0, in nats: 0 for one entry, ln n for n equal ones. They need not add up to 1."""
    whole = float(shares.sum())
    return float(special.entr(shares / whole).sum()) if whole > 0 else 0.0


def manhattan(one: Float, other: Float, top: int | None = None) -> float:
    """Distance of two profiles over the `top` entries of the first (all for None): 0 alike … 2 nothing in common."""
    places = np.argsort(-one, kind="stable")[:top]
    return float(np.abs(one[places] - other[places]).sum())


def entropy_of(table: VisitTable) -> Measured:
    """Entropy of the visits' profile, with its jackknife interval; [value, value] of a single visit."""
    profiles = _profiles(table)
    sums = np.asarray(profiles.sum(axis=0), np.float64).ravel()
    value = entropy(sums)
    without = [entropy(np.maximum(sums - part, 0.0)) for part in _parts(table, profiles)]
    return _jackknifed(value, without)


def halves(table: VisitTable, seed: int, top: int | None = None) -> Measured:
    """Distance of two random halves of the visits: what chance alone makes of two equal profiles.

    The mean of several splits; the interval is what 95 % of splits lie in.
    """
    profiles = _profiles(table)
    random = np.random.default_rng(seed)
    distances = np.zeros(4 * _REPEATS)
    for number in range(len(distances)):
        chosen = random.permutation(table.visits)[: table.visits // 2]
        inside = np.zeros((2, table.visits))
        inside[0, chosen] = 1
        inside[1] = 1 - inside[0]
        one, other = _shares_of(inside, profiles)
        distances[number] = manhattan(one, other, top)
    lo, hi = np.quantile(distances, [0.025, 0.975])
    return Measured(float(distances.mean()), float(lo), float(hi))


def converge(table: VisitTable, samples: Float, seed: int, top: int | None = None) -> Convergence | None:
    """The fit for these visits, `samples` each; None with fewer than 8 of them: too few to split.

    Points are subsets of 1/2, 1/4, … of the visits, down to four visits.
    """
    if table.visits < _LEAST_VISITS or not samples.sum():
        return None
    profiles = _profiles(table)
    members, distances = _points(profiles, np.arange(table.visits), samples, seed, top)
    if not np.all(distances > 0):
        constant, exponent = 0.0, -0.5
        measured = Measured(0.0, 0.0, 0.0)
    else:
        constant = _constant(members, distances)
        exponent = float(np.polyfit(np.log(members), np.log(distances), 1)[0]) if len(members) > 1 else -0.5
        measured = _constant_interval(constant, profiles, samples, seed, top)
    return Convergence(
        constant=measured,
        exponent=exponent,
        samples=members,
        distance=distances,
        samples_per_visit=float(samples.mean()),
    )


def _points(
    profiles: sparse.csr_array, among: Int, samples: Float, seed: int, top: int | None
) -> tuple[Float, Float]:
    """Mean samples and mean distance of random subsets of 1/2, 1/4, … of `among`."""
    random = np.random.default_rng(seed)
    mine = profiles[among]
    whole = np.asarray(mine.sum(axis=0), np.float64).ravel()
    whole /= whole.sum()
    entries = np.argsort(-whole, kind="stable")[:top]
    found: list[tuple[float, float]] = []
    size = len(among) // 2
    while (
        size >= _LEAST_VISITS // 2 or not found
    ):  # 8 visits less one of the jackknife's groups have one point
        inside = np.zeros((_REPEATS, len(among)))
        for row in inside:
            row[random.permutation(len(among))[:size]] = 1
        shares = _shares_of(inside, mine)
        distance = float(np.abs(shares[:, entries] - whole[entries]).sum(axis=1).mean())
        found.append((float((inside @ samples[among]).mean()), distance / np.sqrt(1 - size / len(among))))
        size //= 2
    points = np.array(found)
    return points[:, 0], points[:, 1]


def _constant(samples: Float, distances: Float) -> float:
    return float(np.exp(np.mean(np.log(distances) + 0.5 * np.log(samples))))


def _constant_interval(
    constant: float, profiles: sparse.csr_array, samples: Float, seed: int, top: int | None
) -> Measured:
    without = []
    visits = len(samples)
    for left_out in _groups(visits):
        among = np.setdiff1d(np.arange(visits), left_out)
        members, distances = _points(profiles, among, samples, seed, top)
        without.append(float(np.log(_constant(members, distances))))
    on_logarithms = _jackknifed(float(np.log(constant)), without)
    return Measured(constant, float(np.exp(on_logarithms.lo)), float(np.exp(on_logarithms.hi)))


def _profiles(table: VisitTable) -> sparse.csr_array:
    """Weighted units of each visit (rows) and entry (columns)."""
    values = table.weight[table.visit] * table.y
    return sparse.csr_array((values, (table.visit, table.row)), shape=(table.visits, table.rows))


def _shares_of(inside: Float, profiles: sparse.csr_array) -> Float:
    """Shares of the entries in each set of visits; (sets, R)."""
    sums: Float = np.asarray(inside @ profiles, np.float64)
    whole = sums.sum(axis=1, keepdims=True)
    return sums / np.where(whole > 0, whole, 1.0)


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
    t = float(special.stdtrit(groups - 1, 0.975))
    return Measured(value, value - t * error, value + t * error)
