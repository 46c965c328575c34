"""Whether a load test represents production, and where it does not (DIGEST G32, G22).

The distance of the test's profile from production's means nothing by itself: production differs from itself too, from visit to
visit. So random parts of production, as many visits as the test has, are held against the rest of it. A test that is further from
production than nearly all such parts is not representative, and the functions that make the difference are named.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis.arrays import Float, Int
from analysis.diff import Diff, compare
from analysis.errors import BadShape
from analysis.evidence import enough
from analysis.measured import Measured
from analysis.movers.found import movers
from analysis.reliability import manhattan
from analysis.visit_table import VisitTable

LEAST_VISITS = 8
_PARTS = 400
_ENOUGH = 0.05


@dataclass(frozen=True, slots=True)
class Representative:
    """A load test beside production."""

    distance: float
    """Of the two profiles, 0 alike … 2 nothing in common."""
    floor: Measured
    """Distance of random parts of production from the rest of it: their mean, and what 95 % of them lie in."""
    p: float
    """Part of them that are as far from production as the test, or further."""
    compared_visits: int
    """Visits of each of these parts."""
    covered: float
    """Part of production's samples in functions that the test ran at all, 0…1."""
    differing: Int
    """Rows that differ significantly, largest difference first."""
    diff: Diff
    """Test against production, row by row."""

    @property
    def representative(self) -> bool:
        """Nothing says that the test is not a part of production."""
        return self.p > _ENOUGH


def against_production(
    test: VisitTable, production: VisitTable, *, seed: int, top: int | None = None
) -> Representative:
    """The test's profile against production's, over production's `top` rows (None: all); the same seed gives the same.

    A test of more visits than half of production's is held against halves, which makes the floor too high rather than too low.
    Raises TooLittle without a visit of the test or below 8 of production, BadShape.
    """
    if test.rows != production.rows:
        raise BadShape("A test and production are compared row by row: they need the same rows.")
    enough("visits of the test", test.visits, 1)
    enough("visits of production", production.visits, LEAST_VISITS)
    whole = production.shares
    distance = manhattan(whole, test.shares, top)
    size = min(test.visits, production.visits // 2)
    apart = _distances_of_parts(production, size, np.random.default_rng(seed), top)
    lo, hi = np.quantile(apart, [0.025, 0.975])
    found = compare(test, production, seed=seed)
    return Representative(
        distance=distance,
        floor=Measured(float(apart.mean()), float(lo), float(hi)),
        p=float((1 + (apart >= distance).sum()) / (1 + len(apart))),
        compared_visits=size,
        covered=float(whole[test.shares > 0].sum() / whole.sum()) if whole.sum() > 0 else 0.0,
        differing=movers(found),
        diff=found,
    )


def _distances_of_parts(table: VisitTable, size: int, random: np.random.Generator, top: int | None) -> Float:
    """Distances of random sets of visits from all others."""
    profiles = sparse.csr_array(
        (table.weight[table.visit] * table.y, (table.visit, table.row)), shape=(table.visits, table.rows)
    )
    units = table.weight * table.x
    found = np.zeros(_PARTS)
    everything = np.asarray(profiles.sum(axis=0), np.float64).ravel()
    for number in range(_PARTS):
        chosen = random.permutation(table.visits)[:size]
        part = np.asarray(profiles[chosen].sum(axis=0), np.float64).ravel()
        inside = float(units[chosen].sum())
        rest = (everything - part) / (float(units.sum()) - inside)
        found[number] = manhattan(rest, part / inside, top)
    return found
