"""GIVEN moments WHEN they become estimates THEN intervals are those of the sources, and hold what they promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from analysis import estimate, moments
from analysis.weights import equal
from tests.unit.analysis.frames import made
from tests.unit.analysis.test_moments import one_by_one


def of_visits(y: ArrayLike, x: ArrayLike) -> moments.Moments:
    """Moments of rows (visits, R) of one variance stratum in which every visit weighs 1."""
    seen, whole = np.asarray(y, np.float64), np.asarray(x, np.float64)
    visit, row = np.nonzero(seen)
    return moments.from_visits(
        np.ones(len(whole)),
        np.zeros(len(whole), np.int64),
        equal(np.array([float(len(whole))])),
        x=whole,
        row=row,
        visit=visit,
        y=seen[visit, row],
        rows=seen.shape[1],
    )


def test_visits_of_one_sample_each_are_a_binomial_experiment() -> None:
    # 2 000 visits of one sample: Clopper and Pearson, but for t instead of z and n − 1 instead of n.
    y = np.zeros((2000, 1))
    y[:300] = 1
    found = estimate.shares(of_visits(y, np.ones(2000)))
    exact = stats.binomtest(300, 2000).proportion_ci(0.95)
    assert found.value == pytest.approx([0.15])
    assert found.lo == pytest.approx([exact.low], rel=2e-3)
    assert found.hi == pytest.approx([exact.high], rel=2e-3)
    assert found.effective == pytest.approx([2000], rel=0.01)
    assert not found.low_confidence[0]


def test_totals_of_visits_of_one_sample_are_a_poisson_count() -> None:
    y = np.zeros((100_000, 1))
    y[:40] = 1
    found = estimate.totals(of_visits(y, np.ones(100_000)))
    assert found.lo == pytest.approx([stats.chi2.ppf(0.025, 80) / 2], rel=0.03)
    assert found.hi == pytest.approx([stats.chi2.ppf(0.975, 82) / 2], rel=0.03)


def test_samples_of_one_machine_are_not_independent() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 4.5, 200)
    y = rng.binomial(1000, p)[:, None]
    found = estimate.shares(of_visits(y, np.full(200, 1000)))
    assert 100 < found.effective[0] < 3000  # of 200 000 samples
    assert found.hi[0] - found.lo[0] > 10 * 2 * 1.96 * np.sqrt(0.1 * 0.9 / 200_000)


def test_what_nobody_has_seen_has_an_upper_bound() -> None:
    found = of_visits(np.zeros((100, 1)), np.full(100, 50.0))
    shares, totals = estimate.shares(found), estimate.totals(found)
    assert shares.lo[0] == shares.value[0] == 0
    assert shares.hi[0] == pytest.approx(1 - 0.025**0.01)  # the rule of three, on visits
    assert totals.hi[0] == pytest.approx(shares.hi[0] * 5000)
    assert shares.low_confidence[0]


def test_what_is_everything_has_a_lower_bound() -> None:
    x = np.arange(1.0, 101)
    shares = estimate.shares(of_visits(x[:, None], x))
    assert shares.hi[0] == shares.value[0] == 1
    assert 0.9 < shares.lo[0] < 1


def test_one_visit_is_few_and_says_nearly_nothing() -> None:
    shares = estimate.shares(of_visits([[10.0]], [100.0]))
    assert shares.low_confidence[0]
    assert shares.value[0] == pytest.approx(0.1)
    assert shares.hi[0] - shares.lo[0] > 0.9


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 60), st.floats(1e-3, 1e15), st.sampled_from([1.0, 0.7, 1 / 3]))
def test_visits_that_brought_the_same_are_one_sample_each(visits: int, units: float, part: float) -> None:
    # What rounding leaves of no variance once made them 10¹⁵ samples, and the interval a point.
    y = np.full((visits, 1), units * part)
    found = of_visits(y, np.full(visits, units))
    for estimates in (estimate.shares(found), estimate.totals(found)):
        assert estimates.effective == pytest.approx([visits], rel=1e-6)
        assert estimates.low_confidence[0] == (visits < 3)
    assert estimate.total(found).effective == pytest.approx([visits], rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_nearly_everything_is_everything(seed: int) -> None:
    # The row's sum and the whole's, in another order, differ in their last digits.
    x = np.random.default_rng(seed).gamma(2, 1e9, 9)
    found = replace(of_visits(x[:, None], x), y=np.array([x.sum() * (1 - 1e-15)]))
    whole = estimate.shares(of_visits(x[:, None], x))
    assert estimate.shares(found).lo == pytest.approx(whole.lo, rel=1e-6)


def test_no_visit_says_nothing() -> None:
    nothing = moments.none(2)
    shares = estimate.shares(nothing)
    assert (shares.lo.tolist(), shares.hi.tolist()) == ([0, 0], [1, 1])
    assert estimate.totals(nothing).value.tolist() == [0, 0]
    assert np.isnan(estimate.ratios(nothing).value).all()
    assert estimate.total(nothing).value.tolist() == [0]
    for found in (estimate.totals(nothing), estimate.total(nothing)):
        assert not found.lo.any()
        assert np.isnan(found.hi).all(), "nobody looked: how much there is at most is not known"


def test_a_selection_nobody_saw_anything_of_is_bounded_by_what_was_seen_besides() -> None:
    """Of 691 visits none saw the application: that is no proof that nobody runs it."""
    visits = 691
    event = of_visits(np.zeros((visits, 1)), np.full(visits, 3.0))
    bound = (1 - 0.025 ** (1 / visits)) * event.x
    assert estimate.totals(event).hi == pytest.approx([bound])
    alone = replace(of_visits(np.zeros((visits, 2)), np.zeros(visits)), unseen=bound)
    for one, factor in (
        (alone, 1),
        (alone.of(np.array([1])), 1),
        (alone.scaled(0.5), 0.5),
        (estimate.whole(alone), 1),
    ):
        found = estimate.totals(one)
        assert found.value.tolist() == found.lo.tolist() == [0] * len(one.y)
        assert found.hi == pytest.approx(np.full(len(one.y), bound * factor))
    assert np.isnan(estimate.totals(replace(alone, unseen=np.nan)).hi).all()


def test_what_was_seen_is_not_bounded_by_what_was_seen_besides() -> None:
    found = of_visits(np.zeros((9, 1)), np.ones(9))
    assert estimate.totals(replace(found, unseen=1e9)).hi == estimate.totals(found).hi


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_intervals_hold_their_values_and_stay_where_they_may(seed: int, visits: int) -> None:
    found = one_by_one(made(seed, visits=visits))
    assert np.array_equal(estimate.effective(found), estimate.shares(found).effective)
    for estimates, most in ((estimate.shares(found), 1.0), (estimate.totals(found), np.inf)):
        assert (estimates.lo >= 0).all()
        if most == np.inf and not found.x > 0:
            assert np.isnan(estimates.hi).all()
            continue
        assert (estimates.hi <= most).all()
        assert (estimates.lo <= estimates.value + 1e-9 * found.x).all()
        assert (estimates.value <= estimates.hi + 1e-9 * found.x).all()
        assert np.isfinite(np.concatenate([estimates.lo, estimates.hi, estimates.effective])).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_more_confidence_is_wider(seed: int) -> None:
    found = one_by_one(made(seed))
    for function in (estimate.shares, estimate.totals):
        narrow, wide = function(found, 0.8), function(found, 0.99)
        assert (narrow.lo >= wide.lo - 1e-12).all()
        assert (narrow.hi <= wide.hi + 1e-12).all()


def test_the_same_visits_seen_by_more_contributors_are_not_few() -> None:
    found = of_visits(np.ones((50, 1)), np.full(50, 10.0))
    assert not estimate.shares(found).low_confidence[0]
    assert estimate.shares(of_visits(np.eye(50)[:, :1], np.full(50, 10.0))).low_confidence[0]


def test_a_ratio_of_sums_is_not_a_mean_of_ratios() -> None:
    cycles, instructions = np.array([[100.0], [900.0], [400.0]]), np.array([100.0, 300.0, 400.0])
    found = estimate.ratios(of_visits(cycles, instructions))
    assert found.value[0] == pytest.approx(1400 / 800)
    assert found.lo[0] * found.hi[0] == pytest.approx(found.value[0] ** 2)


def test_the_whole_is_estimated_like_any_total() -> None:
    rng = np.random.default_rng(1)
    x = rng.gamma(4, 100, 400)
    found = estimate.total(of_visits(np.zeros((400, 1)), x))
    assert found.value[0] == pytest.approx(x.sum())
    assert (found.hi[0] - found.lo[0]) / 2 == pytest.approx(1.96 * np.sqrt(400 * x.var(ddof=1)), rel=0.02)


def test_intervals_of_a_skewed_share_cover_it() -> None:
    """A quick look; `make bench-coverage` is the proof."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 18, 3000)
    size = rng.gamma(4, 250, 3000)
    truth = (p * size).sum() / size.sum()
    covered = 0
    for _ in range(300):
        machine = rng.integers(3000, size=60)
        x = rng.poisson(size[machine])
        found = estimate.shares(of_visits(rng.binomial(x, p[machine])[:, None], x))
        covered += found.lo[0] <= truth <= found.hi[0]
    assert 0.91 <= covered / 300 <= 0.985


@given(st.floats(0.001, 0.999), st.integers(20, 2000))
def test_a_borrowed_number_of_samples_makes_the_interval_of_its_lender(share: float, visits: int):
    seen = max(1, min(visits - 1, round(share * visits)))
    lo, hi = estimate.share_at(seen / visits, visits)
    assert lo < seen / visits < hi
    exact = stats.binomtest(seen, visits).proportion_ci(0.95, method="exact")
    assert (lo, hi) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert estimate.share_at(0.0, visits)[0] == 0
    assert estimate.share_at(1.0, visits)[1] == 1


@pytest.mark.parametrize(("seen", "samples"), [(0, 7), (3, 10), (40, 1000), (12, 12)])
def test_a_borrowed_interval_is_the_exact_binomial_one(seen: int, samples: int):
    exact = stats.binomtest(seen, samples).proportion_ci(0.95, method="exact")
    lo, hi = estimate.share_interval(np.array([seen / samples]), samples)
    assert (lo[0], hi[0]) == (pytest.approx(exact.low, abs=1e-12), pytest.approx(exact.high))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 30)), min_size=1, max_size=4))
def test_estimates_of_all_are_those_of_each(seeds: list[tuple[int, int]]) -> None:
    """Also where nothing was seen of a whole, and it is known or not how much there can be."""
    parts = [one_by_one(made(seed, visits=visits)) for seed, visits in seeds]
    parts += [moments.none(2), replace(moments.none(1), unseen=7.0)]
    for each, together in (
        (estimate.shares, estimate.shares_of_all),
        (estimate.totals, estimate.totals_of_all),
    ):
        apart, found = [each(part) for part in parts], together(parts)
        for name in ("value", "lo", "hi", "low_confidence", "effective"):
            expected = np.concatenate([getattr(one, name) for one in apart])
            assert np.array_equal(getattr(found, name), expected, equal_nan=True), name
