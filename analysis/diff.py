"""Tests whether a share differs between two selections beyond chance among visits.

If nothing differs, a visit's content depends on its stratum, not on its selection. So the visits are permuted
within strata (`analysis.permutation_test`), and a row's p-value is the frequency with which chance alone produces a
difference as large as the observed one. Benjamini and Hochberg's step-up procedure is applied to the p-values: on
average at most 5 % of the rows called significant are false. The interval of a difference contains the values that the
same test does not reject, at the level implied by this procedure (`analysis.false_discovery`): it excludes 0
exactly if the row is significant.
Sources: docs/numbers.md; Zou and Donner, Statistics in Medicine 27 (2008), for differences without a test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Bool, Float
from analysis.errors import BadShape
from analysis.estimate import Estimates
from analysis.false_discovery import FALSE_DISCOVERIES, benjamini_hochberg, error_rate
from analysis.permutation_test import FEWEST_SHUFFLES, Shuffled, pool, test
from analysis.pool_rows import entries
from analysis.table_shares import shares
from analysis.visit_subsample import subsample
from analysis.visit_table import VisitTable

_WORK = 1_500_000_000
"""Table entries × permutations of one comparison: at most two seconds of one core."""
_DEAL_COST = 25
"""Time to permute one visit, in entries."""
_MOST_SHUFFLES = 5_000


@dataclass(frozen=True, slots=True)
class Power:
    """The probability of detecting a row of this share that became `factor` times as large, with the present visits."""

    factor: float
    share: float
    power: float


@dataclass(frozen=True, slots=True)
class Diff:
    """A comparison of R rows."""

    a: Estimates
    """Shares in the selection."""
    b: Estimates
    """Shares in its base."""
    delta: Float
    """a − b."""
    lo: Float
    """Lower end of delta's interval at `level`, −1…1."""
    hi: Float
    level: float
    """Level of all rows' intervals, 0.95…1: the fewer rows are significant, the higher."""
    p: Float
    """Two-sided p-values; 1 if there is nothing to compare."""
    q: Float
    """The smallest false-discovery rate at which the row is significant."""
    significant: Bool
    """The interval excludes 0."""
    low_confidence: Bool
    """Too few contributing visits in the selection or its base."""
    power: Power
    part: float
    """Share of the visits used for p-values, 0…1: less than 1 if permuting all would take too long."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two tables with the same rows and the p-values of their differences, before multiple testing is corrected."""

    tables: tuple[VisitTable, VisitTable]
    shares: tuple[Estimates, Estimates]
    parts: tuple[VisitTable, VisitTable]
    """The visits used for p-values: all, or a random part."""
    tested: Shuffled | None
    """None: one of the tables has no visits."""
    p: Float
    """Two-sided p-values; 1 if there is nothing to compare."""


def compare(a: VisitTable, b: VisitTable, *, seed: int, factor: float = 1.5, share: float = 0.01) -> Diff:
    """Compare all rows of two tables with the same rows; deterministic for a given seed.

    Shares always use all visits. p-values and intervals of differences use a random part of them (`Diff.part`) if
    visits × rows × permutations exceed about two seconds of work; `power` refers to this part.
    """
    (found,) = judge([comparison(a, b, seed=seed)], factor=factor, share=share)
    return found


def comparison(a: VisitTable, b: VisitTable, *, seed: int, part: float = 1.0) -> Comparison:
    """The p-values of all rows, to be judged with those of other comparisons.

    `part`: share of the two seconds of work that this comparison may take, 0…1.
    """
    if a.rows != b.rows:
        raise BadShape("Two tables are compared row by row: they need the same rows.")
    parts = a, b
    tested = None
    if a.visits and b.visits:
        most = _most_visits(a, b, part)
        parts = subsample(a, b, most) if most < a.visits + b.visits else parts
        shuffles = int(np.clip(_WORK * part / _cost(*parts), FEWEST_SHUFFLES, _MOST_SHUFFLES))
        tested = test(pool(*parts), shuffles, np.random.default_rng(seed))
    p = np.ones(a.rows) if tested is None else tested.p
    return Comparison((a, b), (shares(a), shares(b)), parts, tested, p)


def judge(found: Sequence[Comparison], *, factor: float = 1.5, share: float = 0.01) -> list[Diff]:
    """The results of comparisons whose rows are tested at once.

    False discoveries are controlled over the rows of all comparisons together: on average at most 5 % of all rows
    marked as significant are false. All intervals have one level.
    """
    if not found:
        return []
    p = [one.p for one in found]
    joint = benjamini_hochberg(np.concatenate(p))
    wrong = error_rate(joint)
    qs = np.split(joint, np.cumsum([len(of) for of in p])[:-1])
    return [
        _judged(one, q, wrong, rows=len(joint), factor=factor, share=share)
        for one, q in zip(found, qs, strict=True)
    ]


def _judged(found: Comparison, q: Float, wrong: float, *, rows: int, factor: float, share: float) -> Diff:
    """One comparison; `wrong` is 1 − the level of intervals, `rows` the number of rows tested at once."""
    a, b = found.tables
    shares_a, shares_b = found.shares
    lo, hi = np.full(a.rows, -np.inf), np.full(a.rows, np.inf)
    if found.tested is not None:
        lo, hi = found.tested.interval(wrong)
    if not (known := np.isfinite(lo) & np.isfinite(hi)).all():
        # The row is in one or two visits only, or there are too few permutations: a difference of 0 is always possible.
        _, below, above = difference(*(shares(table, 1 - wrong) for table in (a, b)))
        lo, hi = np.where(known, lo, np.minimum(below, 0.0)), np.where(known, hi, np.maximum(above, 0.0))
    lo, hi = np.maximum(lo, -1.0), np.minimum(hi, 1.0)
    kept = [now.visits / max(whole.visits, 1) for now, whole in zip(found.parts, (a, b), strict=True)]
    return Diff(
        a=shares_a,
        b=shares_b,
        delta=shares_a.value - shares_b.value,
        lo=lo,
        hi=hi,
        level=1 - wrong,
        p=found.p,
        q=q,
        significant=(lo > 0) | (hi < 0),
        low_confidence=shares_a.low_confidence | shares_b.low_confidence,
        power=Power(factor, share, _power((shares_a, shares_b), kept, factor, share, rows)),
        part=sum(table.visits for table in found.parts) / max(a.visits + b.visits, 1),
    )


def difference(a: Estimates, b: Estimates) -> tuple[Float, Float, Float]:
    """Each row's a − b with a 95 % interval combined from both sides' intervals (Zou and Donner), in their units."""
    delta = a.value - b.value
    below = np.hypot(a.value - a.lo, b.hi - b.value)
    above = np.hypot(a.hi - a.value, b.value - b.lo)
    return delta, delta - below, delta + above


def _cost(a: VisitTable, b: VisitTable) -> float:
    """Cost of one permutation, in entries."""
    visits = a.visits + b.visits
    return float(max(entries(a.rows, visits, len(a.y) + len(b.y)) + _DEAL_COST * visits, 1))


def _most_visits(a: VisitTable, b: VisitTable, part: float = 1.0) -> int:
    """Visits of both sides that can be permuted often enough."""
    return int((a.visits + b.visits) * min(1.0, _WORK * part / FEWEST_SHUFFLES / _cost(a, b)))


def _power(
    sides: tuple[Estimates, Estimates], kept: list[float], factor: float, share: float, rows: int
) -> float:
    """Power of a two-sided test after correction for all rows tested at once, by the normal approximation.

    `kept` is the tested share of each side's visits.
    """
    changed = share * factor
    samples = [
        _samples_at(side, size) * share_kept
        for side, size, share_kept in zip(sides, (changed, share), kept, strict=True)
    ]
    if not all(samples):
        return 0.0
    variance = changed * (1 - changed) / samples[0] + share * (1 - share) / samples[1]
    threshold = float(special.ndtri(1 - FALSE_DISCOVERIES / max(rows, 1) / 2))
    return float(special.ndtr((changed - share) / np.sqrt(variance) - threshold))


def _samples_at(estimates: Estimates, share: float) -> float:
    """Effective samples of a row with this share: the median of the rows nearest to it; 0 without rows."""
    seen = np.flatnonzero((estimates.value > 0) & (estimates.value < 1) & ~estimates.low_confidence)
    if not len(seen):
        return 0.0
    distance = np.abs(np.log(estimates.value[seen] / share))
    return float(np.median(estimates.effective[seen[np.argsort(distance, kind="stable")[:11]]]))
