"""GIVEN visits' profiles WHEN their reliability is asked THEN the paper's figures come out, with what is needed."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis import reliability
from tests.unit.analysis.frames import table


@given(st.integers(1, 200))
def test_equal_entries_have_the_entropy_ln_n(n: int) -> None:
    assert reliability.entropy(np.full(n, 3.0)) == pytest.approx(np.log(n))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30).filter(lambda values: sum(values) > 0))
def test_entropy_is_shannons(values: list[float]) -> None:
    assert reliability.entropy(np.array(values)) == pytest.approx(stats.entropy(values), abs=1e-9)


def test_nothing_has_no_entropy() -> None:
    assert reliability.entropy(np.zeros(3)) == 0


@given(
    st.lists(st.floats(0, 1), min_size=6, max_size=6).filter(
        lambda values: sum(values[:3]) * sum(values[3:]) > 0
    )
)
def test_distance_is_symmetric_and_at_most_two(values: list[float]) -> None:
    one, other = np.array(values[:3]) / sum(values[:3]), np.array(values[3:]) / sum(values[3:])
    assert reliability.manhattan(one, other) == pytest.approx(reliability.manhattan(other, one))
    assert 0 <= reliability.manhattan(one, other) <= 2 + 1e-9
    assert reliability.manhattan(one, one) == 0


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20))
def test_distance_is_a_metric(seed: int, entries: int) -> None:
    """No way around is shorter; only equal profiles are at no distance."""
    rng = np.random.default_rng(seed)
    one, other, between = rng.dirichlet(np.full(entries, 0.5), 3)
    direct = reliability.manhattan(one, other)
    assert direct <= reliability.manhattan(one, between) + reliability.manhattan(between, other) + 1e-12
    assert (direct < 1e-12) == bool(np.allclose(one, other, rtol=0, atol=1e-12))


def test_only_the_top_entries_of_the_first_count() -> None:
    one, other = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    assert reliability.manhattan(one, other, top=2) == pytest.approx(0.4)


def equal_visits(
    rng: np.random.Generator, visits: int, samples: int, rows: int = 50
) -> npt.NDArray[np.int64]:
    shares = rng.dirichlet(np.ones(rows))
    return rng.multinomial(samples, shares, size=visits)


def test_independent_samples_converge_as_one_over_root_n() -> None:
    rng = np.random.default_rng(0)
    y = equal_visits(rng, 400, 100)
    found = reliability.converge(table(y), y.sum(axis=1).astype(float), seed=1)
    assert found is not None
    assert found.exponent == pytest.approx(-0.5, abs=0.05)
    # E|p̂ − p| of a binomial share is √(2p(1−p)/πN), so C = Σ √(2p(1−p)/π).
    p = y.sum(axis=0) / y.sum()
    expected = np.sqrt(2 * p * (1 - p) / np.pi).sum()
    assert found.constant.value == pytest.approx(expected, rel=0.1)
    assert found.constant.lo < expected < found.constant.hi
    assert found.samples_needed(0.03) == pytest.approx((found.constant.value / 0.03) ** 2, rel=0.02)
    assert found.visits_needed(0.1) == pytest.approx(found.samples_needed(0.1) / 100)


def test_samples_of_one_machine_say_less() -> None:
    rng = np.random.default_rng(1)
    alike = equal_visits(rng, 200, 200)
    apart = np.array([rng.multinomial(200, rng.dirichlet(np.full(50, 0.1))) for _ in range(200)])
    constants = []
    for y in (alike, apart):
        found = reliability.converge(table(y), y.sum(axis=1).astype(float), seed=1)
        assert found is not None
        constants.append(found.constant.value)
    assert constants[1] > 3 * constants[0]


def test_what_is_needed_is_what_another_sample_shows() -> None:
    """The distance foretold for some visits is the distance those visits really have from the truth."""
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.full(40, 0.3), 4000)
    truth = shares.mean(axis=0)
    y = np.array([rng.multinomial(500, p) for p in shares[rng.permutation(4000)[:300]]])
    found = reliability.converge(table(y), y.sum(axis=1).astype(float), seed=1)
    assert found is not None
    wanted = 0.2
    visits = round(found.visits_needed(wanted))
    real = []
    for _ in range(40):
        some = np.array([rng.multinomial(500, p) for p in shares[rng.permutation(4000)[:visits]]]).sum(axis=0)
        real.append(reliability.manhattan(truth, some / some.sum()))
    assert np.mean(real) == pytest.approx(wanted, rel=0.15)


def test_visits_that_are_alike_need_no_samples() -> None:
    y = np.tile([10, 20, 30], (20, 1))
    found = reliability.converge(table(y), np.full(20, 60.0), seed=0)
    assert found is not None
    assert found.samples_needed(0.01) == 0


def test_too_few_visits_have_no_fit() -> None:
    assert reliability.converge(table(np.ones((7, 3))), np.full(7, 3.0), seed=0) is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_intervals_hold_their_values(seed: int, visits: int) -> None:
    rng = np.random.default_rng(seed)
    y = 1 + equal_visits(rng, visits, 50)
    for found in (reliability.entropy_of(table(y)), reliability.halves(table(y), seed)):
        assert found.lo <= found.value + 1e-9
        assert found.value <= found.hi + 1e-9


def test_the_entropys_interval_holds_that_of_other_samples() -> None:
    inside = 0
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.full(20, 0.5), 5000)
    truth = reliability.entropy(shares.mean(axis=0))
    for _ in range(60):
        y = np.array([rng.multinomial(2000, p) for p in shares[rng.permutation(5000)[:150]]])
        found = reliability.entropy_of(table(y))
        inside += found.lo - 0.02 <= truth <= found.hi + 0.02
    assert inside >= 50


def test_the_same_seed_gives_the_same_answer() -> None:
    y = equal_visits(np.random.default_rng(5), 30, 100)
    assert reliability.halves(table(y), 3) == reliability.halves(table(y), 3)


def all_finite(found: reliability.Convergence) -> bool:
    figures = [*found.samples, *found.distance, found.exponent, found.samples_per_visit]
    return bool(np.isfinite([*figures, found.constant.value, found.constant.lo, found.constant.hi]).all())


def test_one_visit_that_differs_has_a_finite_interval() -> None:
    """By version, and the only visit of a canary: without it nothing varies."""
    y = np.zeros((40, 2))
    y[:, 0] = 100
    y[7] = [0, 100]
    found = reliability.converge(table(y), np.full(40, 100.0), seed=1)
    assert found is not None
    assert all_finite(found)
    assert found.constant.lo == 0 < found.constant.value < found.constant.hi


@pytest.mark.parametrize("visits", [40, 2000])
@pytest.mark.parametrize("having", [1, 7])
def test_what_few_visits_have_has_no_fit(visits: int, having: int) -> None:
    y = np.zeros((visits, 2))
    y[3 : 3 + having] = [5, 7]
    found = reliability.converge(table(y, x=np.full(visits, 100.0)), y.sum(axis=1), seed=1)
    assert found is None


def test_only_visits_that_have_it_count() -> None:
    """Others say nothing about the profile, and bring no samples of it."""
    rng = np.random.default_rng(6)
    y = np.zeros((1000, 50))
    y[rng.permutation(1000)[:50]] = equal_visits(rng, 50, 100)
    having = y[y.sum(axis=1) > 0]
    found = reliability.converge(table(y, x=np.full(1000, 100.0)), y.sum(axis=1), seed=1)
    alone = reliability.converge(table(having), having.sum(axis=1), seed=1)
    assert found is not None
    assert alone is not None
    assert found.visits == 50
    assert found.samples_per_visit == pytest.approx(100)
    assert found.constant.value == pytest.approx(alone.constant.value, rel=0.2)


def test_an_entropy_is_not_below_zero() -> None:
    y = np.zeros((40, 2))
    y[:, 0] = 100
    y[7, 1] = 1
    found = reliability.entropy_of(table(y))
    assert 0 <= found.lo <= found.value <= found.hi


def test_of_many_visits_a_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    y = equal_visits(np.random.default_rng(8), 800, 100)
    samples = y.sum(axis=1).astype(float)
    every = reliability.converge(table(y), samples, seed=1)
    monkeypatch.setattr(reliability, "_MOST_PAIRS", 200 * 50)
    part = reliability.converge(table(y), samples, seed=1)
    assert every is not None
    assert part is not None
    assert max(part.samples) < max(every.samples) / 2
    assert (part.visits, part.samples_per_visit) == (800, 100)
    assert part.constant.value == pytest.approx(every.constant.value, rel=0.1)
    again = reliability.converge(table(y), samples, seed=1)
    assert again is not None
    assert again.constant == part.constant


def test_the_part_is_bounded_and_of_no_time_of_day() -> None:
    few = table(np.ones((100, 3)))
    assert len(reliability._part(few, np.arange(100))) == 100
    many = table(np.ones((20_000, 1)))
    part = reliability._part(many, np.arange(20_000))
    assert len(part) == reliability._MOST_VISITS
    assert part.mean() == pytest.approx(10_000, rel=0.05)
    rich = table(np.ones((80, 8000)))
    assert len(reliability._part(rich, np.arange(80))) == reliability._ENOUGH_VISITS


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 4), st.floats(0.02, 1))
def test_no_figure_is_nan(seed: int, visits: int, rows: int, filled: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(1, 4, (visits, rows)) * (rng.random((visits, rows)) < filled)
    full = table(y, x=np.full(visits, 10.0))
    seen = reliability.seen_by(full)
    found = reliability.converge(full, y.sum(axis=1).astype(float), seed)
    assert (found is not None) == (len(seen) >= 8)
    assert found is None or all_finite(found)
    kept = full.of(seen)
    assert kept.visits == len(seen)
    assert kept.y.sum() == y.sum()
    if len(seen) >= 2:
        for figure in (reliability.entropy_of(kept), reliability.halves(kept, seed)):
            assert 0 <= figure.lo <= figure.value + 1e-9 <= figure.hi + 2e-9 < np.inf
