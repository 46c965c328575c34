"""GIVEN several comparisons WHEN they are judged together THEN false discoveries are controlled over all of them."""

import numpy as np
import pytest

from analysis.diff import Comparison, compare, comparison, judge
from analysis.false_discovery import FALSE_DISCOVERIES, benjamini_hochberg
from analysis.visit_table import VisitTable

ROWS, VISITS = 12, 30


def _table(random: np.random.Generator, first: int, *, slower: float = 1.0) -> VisitTable:
    """Visits of one stratum; row 0 is `slower` times as heavy as usual."""
    rates = np.full(ROWS, 40.0)
    rates[0] *= slower
    y = random.poisson(rates * random.gamma(20, 1 / 20, (VISITS, ROWS)))
    visit, row = np.nonzero(y)
    return VisitTable(
        key=np.arange(first, first + VISITS),
        stratum=np.zeros(VISITS, np.int64),
        weight=np.ones(VISITS),
        x=y.sum(axis=1).astype(np.float64),
        row=row,
        visit=visit,
        y=y[visit, row].astype(np.float64),
        rows=ROWS,
    )


def _pairs(random: np.random.Generator, count: int, *, slower: float = 1.0) -> list[Comparison]:
    factors = [slower] + [1.0] * (count - 1)
    return [
        comparison(_table(random, 0, slower=factor), _table(random, VISITS), seed=1, part=0.01)
        for factor in factors
    ]


def test_one_comparison_is_judged_as_before():
    random = np.random.default_rng(1)
    a, b = _table(random, 0, slower=2.0), _table(random, VISITS)
    (joint,) = judge([comparison(a, b, seed=1)])
    alone = compare(a, b, seed=1)
    assert (joint.q == alone.q).all()
    assert (joint.lo == alone.lo).all()
    assert judge([]) == []


def test_a_planted_change_is_found_among_many_comparisons():
    found = judge(_pairs(np.random.default_rng(2), 8, slower=1.6))
    assert found[0].significant[0]
    assert found[0].lo[0] > 0
    assert len({one.level for one in found}) == 1


def test_all_p_values_are_corrected_together():
    made = _pairs(np.random.default_rng(3), 5, slower=1.3)
    found = judge(made)
    q = benjamini_hochberg(np.concatenate([one.p for one in made]))
    assert np.concatenate([one.q for one in found]) == pytest.approx(q)
    assert (np.concatenate([one.significant for one in found]) == (q <= FALSE_DISCOVERIES)).all()


@pytest.mark.slow
def test_without_any_change_false_alarms_are_as_rare_as_stated():
    random, fleets = np.random.default_rng(4), 50
    alarms = sum(any(one.significant.any() for one in judge(_pairs(random, 2))) for _ in range(fleets))
    assert alarms <= fleets * FALSE_DISCOVERIES + 3 * np.sqrt(
        fleets * FALSE_DISCOVERIES * (1 - FALSE_DISCOVERIES)
    )
