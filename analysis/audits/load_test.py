"""Tests whether a load test represents production, and where it does not (DIGEST G32, G22).

The distance of the test's profile from production's is meaningless by itself: production differs from itself, too,
between visits and because of few samples. So random parts of production, with as many visits as the test, are compared
with the rest of production, and the test next to each part. Visits of part and test are paired by size, and the larger
of each pair is thinned to the samples of the other. Without that, every test with fewer samples per visit than
production failed, and one with more hardly could. A test further from production than nearly all such parts is not
representative, and the functions that cause the difference are listed.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from analysis import confidence
from analysis.arrays import Float, Int, sums
from analysis.diff import Diff, compare
from analysis.errors import BadShape, Contradictory
from analysis.input_checks import enough, positive
from analysis.measured import Measured
from analysis.movers.significant_movers import movers
from analysis.reliability import manhattan
from analysis.visit_table import VisitTable

LEAST_VISITS = 8
_PARTS = 400
_LEAST_PARTS = 100
_PAIRS = 20_000_000
"""Limit for pairs of visit and row that are thinned in total: some seconds."""
_ENOUGH = 0.05
_WHOLE = 1e-6
"""Rounding tolerance as a part of a sample."""


@dataclass(frozen=True, slots=True)
class Representative:
    """Comparison of a load test with production."""

    distance: float
    """Distance of the two profiles with all samples, 0 equal … 2 nothing in common."""
    matched: Measured
    """The test's distance from the rest of production at a part's visits and samples: mean and 95 % range."""
    floor: Measured
    """Distance of random parts of production from the rest: mean and 95 % range."""
    p: float
    """Share of the parts that are at least as far from production as the test with the same samples."""
    compared_visits: int
    """Visits of each part."""
    compared_samples: float
    """Mean samples of a part."""
    covered: float
    """Share of production's samples in functions that the test ran at all, 0…1."""
    differing: Int
    """Rows that differ significantly, largest difference first."""
    diff: Diff
    """Test against production, by row."""

    @property
    def representative(self) -> bool:
        """Whether the test is compatible with being a part of production."""
        return self.p > _ENOUGH


def against_production(
    test: VisitTable,
    production: VisitTable,
    *,
    seed: int,
    top: int | None = None,
    sample: float = 1.0,
    diff: Diff | None = None,
) -> Representative:
    """Compare the test's profile with production's, over production's `top` rows (None: all); deterministic per seed.

    `diff` is the comparison of the two tables by row, if it is known: it takes up to two seconds.
    `sample` is the number of units per sample, such as its period; thinning works on samples. Of a test with more
    visits than half of production's, only as many as half are used. Raises InsufficientData without a visit of the test
    or below 8 of production, Contradictory if units are not whole samples, NotANumber, BadShape.
    """
    if test.rows != production.rows:
        raise BadShape("A test and production are compared row by row: they need the same rows.")
    enough("visits of the test", test.visits, 1)
    enough("visits of production", production.visits, LEAST_VISITS)
    whole = production.shares
    distance = manhattan(whole, test.shares, top)
    size = min(test.visits, production.visits // 2)
    sides = _Samples.of(test, sample), _Samples.of(production, sample)
    tests, parts, samples = _distances(*sides, size, np.random.default_rng(seed), top)
    found = compare(test, production, seed=seed) if diff is None else diff
    return Representative(
        distance=distance,
        matched=_spread(tests),
        floor=_spread(parts),
        p=float((1 + (parts >= tests).sum()) / (1 + len(parts))),
        compared_visits=size,
        compared_samples=samples,
        covered=float(whole[test.shares > 0].sum() / whole.sum()) if whole.sum() > 0 else 0.0,
        differing=movers(found),
        diff=found,
    )


@dataclass(frozen=True, slots=True)
class _Samples:
    """Visits × rows in whole samples."""

    y: sparse.csr_array
    """(V, R)."""
    x: Float
    """By visit."""
    weight: Float

    @classmethod
    def of(cls, table: VisitTable, sample: float) -> "_Samples":
        unit = positive("units of a sample", sample)
        y, x = table.y / unit, table.x / unit
        for counts in (y, x):
            if (np.abs(counts - np.round(counts)) > _WHOLE * np.maximum(counts, 1)).any():
                raise Contradictory(
                    f"Units are not whole samples of {unit:g}: a test and production with different "
                    "samples cannot be compared."
                )
        shape = (table.visits, table.rows)
        return cls(sparse.csr_array((np.round(y), (table.visit, table.row)), shape=shape), x, table.weight)

    def profile(self, visits: Int) -> Float:
        """Shares of the rows in these visits; (R,)."""
        whole = float(self.weight[visits] @ self.x[visits])
        return np.asarray(self.weight[visits] @ self.y[visits], np.float64) / (whole if whole > 0 else 1.0)

    def thinned(self, visits: Int, samples: Float, random: np.random.Generator) -> Float:
        """Like `profile`, with each visit thinned to about `samples` but representing as much as before."""
        some, x, weight = self.y[visits], self.x[visits], self.weight[visits]
        kept = np.minimum(np.divide(samples, x, out=np.ones(len(x)), where=x > 0), 1.0)
        visit = np.repeat(np.arange(len(visits)), np.diff(some.indptr))
        left = random.binomial(some.data.astype(np.int64), kept[visit]).astype(np.float64)
        before, after = sums(visit, some.data, len(visits)), sums(visit, left, len(visits))
        each = weight * np.divide(before, after, out=np.zeros(len(x)), where=after > 0)
        whole = float(weight @ x)
        return sums(some.indices.astype(np.int64), each[visit] * left, some.shape[1]) / (
            whole if whole > 0 else 1.0
        )


def _distances(
    test: _Samples, production: _Samples, size: int, random: np.random.Generator, top: int | None
) -> tuple[Float, Float, float]:
    """Distances of the test and of random parts of production from the rest of it; and the mean samples of a part."""
    pairs = size * (test.y.nnz / max(len(test.x), 1) + production.y.nnz / len(production.x))
    count = int(np.clip(_PAIRS / max(pairs, 1), _LEAST_PARTS, _PARTS))
    tests, parts, samples = np.zeros(count), np.zeros(count), np.zeros(count)
    for number in range(count):
        ours, dealt = random.permutation(len(test.x))[:size], random.permutation(len(production.x))
        theirs, rest = dealt[:size], production.profile(dealt[size:])
        ours, theirs = ours[np.argsort(test.x[ours])], theirs[np.argsort(production.x[theirs])]
        both = np.minimum(test.x[ours], production.x[theirs])
        tests[number] = manhattan(rest, test.thinned(ours, both, random), top)
        parts[number] = manhattan(rest, production.thinned(theirs, both, random), top)
        samples[number] = both.sum()
    return tests, parts, float(samples.mean())


def _spread(values: Float) -> Measured:
    lo, hi = np.quantile(values, confidence.tails())
    return Measured(float(values.mean()), float(lo), float(hi))
