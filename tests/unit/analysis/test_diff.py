"""GIVEN two selections WHEN they are compared THEN chance is seldom called a change, and changes are found."""

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import diff, false_discovery, permutation_test
from analysis.arrays import Float, Int
from analysis.errors import BadShape
from analysis.pool_rows import PoolRows
from analysis.visit_table import VisitTable
from tests.unit.analysis.frames import table


def visits(
    rng: np.random.Generator, count: int, rows: int = 30, change: Float | None = None
) -> npt.NDArray[np.int64]:
    """Dense (visits, rows): machines of different load and skewed shares; `change` multiplies rows."""
    shares = rng.dirichlet(np.full(rows, 0.5), count)
    if change is not None:
        shares = shares * change
    return rng.poisson(rng.gamma(4, 100, count)[:, None] * shares)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_q_values_are_benjaminis_and_hochbergs(p: list[float]) -> None:
    assert false_discovery.benjamini_hochberg(np.array(p)) == pytest.approx(stats.false_discovery_control(p))


def test_no_rows_have_no_q_values() -> None:
    assert len(false_discovery.benjamini_hochberg(np.zeros(0))) == 0


def test_p_values_are_what_all_permutations_give() -> None:
    rng = np.random.default_rng(4)
    y = visits(rng, 9, rows=3).astype(float)
    a, b = table(y[:4]), table(y[4:], key=np.arange(4, 9))
    pooled = permutation_test.pool(a, b)
    got = permutation_test.test(pooled, 20_000, np.random.default_rng(0)).p
    x, weight_a, weight_b = y.sum(axis=1), 1 / y[:4].sum(), 1 / y[4:].sum()
    rows = PoolRows.of(pooled.y, pooled.x)
    everyone = set(range(9))
    found = []
    for chosen in combinations(range(9), 4):
        in_a, in_b = np.zeros((9, 1)), np.zeros((9, 1))
        in_a[list(chosen)], in_b[sorted(everyone - set(chosen))] = weight_a, weight_b
        found.append(permutation_test._studentised(*permutation_test._differences(rows, in_a, in_b))[:, 0])
    every = np.array(found)
    assert len(x) == 9
    tails = np.minimum((every <= every[0] + 1e-9).mean(axis=0), (every >= every[0] - 1e-9).mean(axis=0))
    assert got == pytest.approx(np.minimum(1, 2 * tails), rel=0.25)


def test_a_change_is_found_and_the_rest_is_left_alone() -> None:
    rng = np.random.default_rng(0)
    change = np.ones(30)
    change[3] = 3
    found = diff.compare(
        table(visits(rng, 300, change=change)), table(visits(rng, 300), key=np.arange(1000, 1300)), seed=1
    )
    assert found.significant[3]
    assert found.significant.sum() <= 3  # when one share grows all others shrink a little
    assert found.delta[3] > 0
    assert found.lo[3] > 0
    assert found.p[3] < 1e-4
    assert found.delta == pytest.approx(found.a.value - found.b.value)
    assert ((found.lo <= found.delta) & (found.delta <= found.hi)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "base"), [(60, 60), (200, 15)])
def test_nothing_changed_is_seldom_called_a_change(ours: int, base: int) -> None:
    false = 0
    for trial in range(40):
        rng = np.random.default_rng(trial)
        a, b = table(visits(rng, ours)), table(visits(rng, base), key=np.arange(10**6, 10**6 + base))
        pooled = permutation_test.pool(a, b)
        p = permutation_test.test(pooled, 1000, np.random.default_rng(trial)).p
        false += int((false_discovery.benjamini_hochberg(p) <= false_discovery.FALSE_DISCOVERIES).any())
    assert false <= 6  # 2 are expected; more than 6 come once in 300 such tests


def test_a_row_of_one_visit_is_no_change_because_another_row_is_one() -> None:
    """The whole that shares are taken of has changed; the one visit tells nothing about its own row."""
    rng = np.random.default_rng(11)
    y = np.zeros((18, 3))
    y[:, 0] = 70 + rng.integers(0, 5, 18)
    y[:, 1] = np.where(np.arange(18) < 9, 28, 98) + rng.integers(0, 5, 18)
    y[14, 2] = 2
    found = diff.compare(table(y[:9]), table(y[9:], key=np.arange(9, 18)), seed=1)
    assert found.significant.tolist() == [True, True, False]
    assert found.p[2] == 1


def test_a_row_of_a_few_visits_is_as_sure_as_where_they_fell() -> None:
    y = np.zeros((18, 2))
    y[:, 0] = 100
    y[:5, 1] = 3
    found = diff.compare(table(y[:9]), table(y[9:], key=np.arange(9, 18)), seed=1)
    all_on_one_side = stats.hypergeom(18, 5, 9).pmf(5)
    assert found.p[1] == pytest.approx(2 * all_on_one_side, rel=0.2)
    assert found.p[1] >= 2 * all_on_one_side


@pytest.mark.parametrize("shown", [1, 2])
def test_a_row_of_one_or_two_visits_is_no_change_in_a_small_canary(shown: int) -> None:
    """The one visit is among 10 of 1010 with a chance of only 0.01."""
    rng = np.random.default_rng(12)
    y = np.zeros((1010, 10))
    y[:, 1:] = rng.poisson(100, (1010, 9))
    y[:10, 1:4] = rng.poisson(150, (10, 3))
    y[:shown, 0] = 3
    found = diff.compare(table(y[:10]), table(y[10:], key=np.arange(10, 1010)), seed=1)
    assert found.significant[1:4].all()
    assert not found.significant[0]
    assert found.p[0] == 1


def test_a_visit_of_both_selections_shows_a_row_once() -> None:
    y = np.full((20, 3), 100.0)
    y[:, 2] = 0
    changed = y * [1, 2, 1]
    y[:2, 2], changed[:2, 2] = 5, 9
    assert diff.compare(table(changed), table(y), seed=1).p[2] == 1


def test_the_same_seed_gives_the_same_answer() -> None:
    rng = np.random.default_rng(2)
    a, b = table(visits(rng, 40)), table(visits(rng, 40), key=np.arange(100, 140))
    one, other = diff.compare(a, b, seed=7), diff.compare(a, b, seed=7)
    assert one.p.tolist() == other.p.tolist()
    assert diff.compare(a, b, seed=8).p.tolist() != one.p.tolist()


def test_a_visit_of_both_selections_swaps_its_two_values() -> None:
    """Machines differ far more than the two versions on each: only pairs can tell."""
    rng = np.random.default_rng(3)
    shares = rng.beta(0.5, 4.5, 60)
    x = np.full(60, 1000.0)
    a, b = rng.binomial(1000, shares), rng.binomial(1000, np.minimum(1, 1.3 * shares))
    paired = diff.compare(table(a[:, None], x=x), table(b[:, None], x=x), seed=1)
    apart = diff.compare(table(a[:, None], x=x), table(b[:, None], x=x, key=np.arange(60, 120)), seed=1)
    assert paired.p[0] < 0.001
    assert apart.p[0] > 0.05


def test_a_difference_between_strata_is_no_change() -> None:
    """The base saw more of a stratum in which the function is hotter; within each nothing differs."""
    rng = np.random.default_rng(5)
    stratum_a, stratum_b = np.repeat([0, 1], [150, 50]), np.repeat([0, 1], [50, 150])

    def some(stratum: Int, key: Int, *, stratified: bool) -> VisitTable:
        y = rng.binomial(1000, np.where(stratum == 1, 0.3, 0.1) * rng.uniform(0.5, 1.5, 200))
        # Both selections stand for as much of each stratum, so the shares are the same.
        weight = 100 / np.bincount(stratum)[stratum]
        return table(
            y[:, None],
            x=np.full(200, 1000.0),
            stratum=stratum if stratified else np.zeros(200, np.int64),
            key=key,
            weight=weight,
        )

    found = diff.compare(
        some(stratum_a, np.arange(200), stratified=True),
        some(stratum_b, np.arange(200, 400), stratified=True),
        seed=1,
    )
    assert found.p[0] > 0.05


def test_selections_without_a_stratum_in_common_are_compared_all_the_same() -> None:
    rng = np.random.default_rng(6)
    a = table(visits(rng, 60), stratum=np.zeros(60, np.int64))
    change = np.ones(30)
    change[0] = 6
    b = table(visits(rng, 60, change=change), stratum=np.ones(60, np.int64), key=np.arange(60, 120))
    assert diff.compare(a, b, seed=0).significant[0]


def test_visits_of_strata_that_the_base_never_met_stay_where_they_are() -> None:
    rng = np.random.default_rng(9)
    stratum = np.repeat([0, 1, 2], [20, 10, 10])
    pooled = permutation_test.pool(
        table(visits(rng, 40), stratum=stratum),
        table(visits(rng, 5), stratum=np.zeros(5, np.int64), key=np.arange(40, 45)),
    )
    slots = permutation_test.deals(pooled, 50, rng)
    assert (slots[:, 20:40] == np.arange(20, 40)).all()
    assert (np.sort(slots[:, pooled.stratum == 0], axis=1) == np.flatnonzero(pooled.stratum == 0)).all()
    assert (slots[:, 40:] < 20).any()


def test_a_visit_keeps_what_its_class_adds_to_its_weight() -> None:
    rng = np.random.default_rng(10)
    class_weight = np.where(np.arange(20) % 4 == 0, 3.0, 1.0)
    a = table(visits(rng, 20), weight=class_weight)
    b = table(visits(rng, 8), key=np.arange(20, 28), weight=50 * class_weight[:8])
    pooled = permutation_test.pool(a, b)
    for slots in permutation_test.deals(pooled, 20, rng):
        in_a, in_b = (side[:, 0] for side in permutation_test.sides(pooled, slots[None, :]))
        both = np.concatenate([class_weight, class_weight[:8]])
        for side in (in_a, in_b):
            there = side > 0
            assert np.ptp(side[there] / both[there]) == pytest.approx(0)
    unmoved = permutation_test.sides(pooled, np.arange(28)[None, :])[0][:20, 0]
    assert unmoved == pytest.approx(a.weight / (a.weight @ a.x))


def test_an_empty_selection_differs_in_nothing() -> None:
    rng = np.random.default_rng(7)
    found = diff.compare(table(np.zeros((0, 30))), table(visits(rng, 20)), seed=0)
    assert not found.significant.any()
    assert found.p.tolist() == [1.0] * 30
    assert found.power.power == 0


@pytest.mark.slow
def test_more_visits_have_more_power() -> None:
    rng = np.random.default_rng(8)
    powers = [
        diff.compare(
            table(visits(rng, n)), table(visits(rng, n), key=np.arange(10**6, 10**6 + n)), seed=0, share=0.03
        ).power.power
        for n in (20, 200, 1000)
    ]
    assert powers == sorted(powers)
    assert powers[0] < 0.2
    assert powers[-1] > 0.8


def test_rows_of_different_tables_are_not_compared() -> None:
    with pytest.raises(BadShape):
        diff.compare(table(np.ones((2, 2))), table(np.ones((2, 3))), seed=0)


@pytest.mark.parametrize("rare", [0.0, 0.95])
def test_sparse_and_dense_rows_have_the_same_shares(rare: float) -> None:
    rng = np.random.default_rng(13)
    y = visits(rng, 40) * (rng.random((40, 30)) >= rare)
    pooled = permutation_test.pool(
        table(y[:30], x=np.full(30, 900.0)), table(y[30:], x=np.full(10, 900.0), key=np.arange(30, 40))
    )
    rows = PoolRows.of(pooled.y, pooled.x)
    assert isinstance(rows.y, np.ndarray) == (rare == 0)
    weight = rng.random((40, 5))
    share, variance = rows.shares(weight)
    expected = (y.T @ weight) / (900 * weight.sum(axis=0))
    errors = np.square((y.T[:, :, None] - 900 * expected[:, None, :]) * weight).sum(axis=1)
    assert share == pytest.approx(expected)
    assert variance == pytest.approx(errors / (900 * weight.sum(axis=0)) ** 2 * 40 / 39)


_DIFFERENCES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "visits": st.tuples(st.integers(1, 30), st.integers(1, 30)),
        "rows": st.integers(1, 15),
        "changed": st.integers(0, 8),
        "factor": st.sampled_from([0.0, 0.3, 1.0, 2.0, 8.0]),
        "both": st.booleans(),
        "strata": st.integers(1, 3),
    }
)


@settings(max_examples=60, deadline=None)
@given(_DIFFERENCES)
def test_a_row_is_significant_if_and_only_if_its_interval_excludes_zero(found: dict[str, Any]) -> None:
    """At one level for all rows, which is that of the false-discovery control."""
    rng = np.random.default_rng(found["seed"])
    change = np.ones(found["rows"])
    change[: found["changed"]] = found["factor"]
    a = visits(rng, found["visits"][0], found["rows"], change)
    b = visits(rng, found["visits"][1], found["rows"])
    first = 0 if found["both"] else len(a)
    result = diff.compare(
        table(a, x=a.sum(axis=1) + 1, stratum=np.arange(len(a)) % found["strata"]),
        table(
            b,
            x=b.sum(axis=1) + 1,
            key=np.arange(first, first + len(b)),
            stratum=np.arange(len(b)) % found["strata"],
        ),
        seed=1,
    )
    excludes = (result.lo > 0) | (result.hi < 0)
    assert (result.significant == excludes).all()
    discovered = stats.false_discovery_control(result.p) <= false_discovery.FALSE_DISCOVERIES
    assert (excludes == discovered).all()
    marked = max(int(discovered.sum()), 1)
    assert result.level == pytest.approx(1 - false_discovery.FALSE_DISCOVERIES * marked / found["rows"])
    assert ((result.lo <= result.delta + 1e-12) & (result.delta <= result.hi + 1e-12)).all()


def test_intervals_of_differences_hold_what_they_promise() -> None:
    """Shares that differ by half among machines of very different load, 50 visits a side: 95 % within four standard errors."""
    rng = np.random.default_rng(11)
    held, rows = 0, 20
    shares = rng.dirichlet(np.full(rows, 0.5), 4000)
    load = rng.gamma(4, 100, 4000)
    change = np.where(np.arange(rows) % 2, 1.5, 1.0)
    truth = (load @ (shares * change)) / (load @ (shares * change)).sum() - load @ shares / load.sum()
    trials = 60
    for trial in range(trials):
        sides = []
        for key, factor in ((0, change), (4000, np.ones(rows))):
            chosen = rng.choice(4000, 50, replace=False)
            y = rng.poisson(load[chosen, None] * shares[chosen] * factor)
            sides.append(table(y, key=key + chosen))
        tested = permutation_test.test(permutation_test.pool(*sides), 1000, np.random.default_rng(trial))
        lo, hi = tested.interval(0.05)
        held += int(((lo <= truth) & (truth <= hi)).sum())
    assert 0.93 <= held / (trials * rows) <= 0.985
