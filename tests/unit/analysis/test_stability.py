"""GIVEN a profile's reliability WHEN its badge is asked THEN it is in proportion to what is misplaced, and shifts are told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.convergence import Curve
from analysis.errors import BadShape, NotANumber
from analysis.measured import Measured
from analysis.reliability import Convergence, converge, entropy_of
from analysis.stability import STEADY, Badge, judge, shifted_days
from tests.unit.analysis.frames import table


def fit(constant: float, visits: int = 100) -> Convergence:
    """Of a profile whose entries all have many samples: the law C/√N."""
    measured = Measured(constant, constant * 0.9, constant * 1.1)
    return Convergence(Curve((constant / 2) ** 2, 20.0), measured, np.ones(1), np.ones(1), 200.0, visits)


@pytest.mark.parametrize(
    ("samples", "badge"), [(2_000, Badge.ROUGH), (20_000, Badge.FAIR), (400_000, Badge.STEADY)]
)
def test_more_samples_make_a_better_badge(samples: float, badge: Badge) -> None:
    found = judge(fit(30), samples)
    assert found.badge is badge
    assert found.misplaced is not None
    assert found.misplaced.value == pytest.approx(30 / np.sqrt(samples) / 2)
    assert (found.more_visits == 0) == (badge is Badge.STEADY)


@settings(deadline=None)
@given(st.floats(0.1, 100), st.floats(10, 1e6))
def test_the_visits_asked_for_make_it_steady(constant: float, samples: float) -> None:
    found = judge(fit(constant), samples)
    assert found.more_visits is not None
    after = judge(fit(constant), samples + 200 * found.more_visits + 1)
    assert after.misplaced is not None
    assert after.misplaced.hi <= STEADY * (1 + 1e-9)


def test_too_few_visits_say_nothing() -> None:
    found = judge(None, 10)
    assert (found.badge, found.misplaced, found.more_visits) == (Badge.FEW, None, None)


def days(values: list[float], width: float = 0.05) -> list[Measured]:
    return [Measured(value, value - width, value + width) for value in values]


def test_a_day_of_another_kind_is_told() -> None:
    """DIGEST G25: two behaviours of one application had entropies of 5.5 to 6 and of 4.5 to 5."""
    entropies = days([5.7, 5.75, 5.68, 4.8, 5.72])
    assert shifted_days(entropies) == (3,)
    assert judge(fit(1), 1e6, entropies).badge is Badge.SHIFTING


@pytest.mark.parametrize(
    "entropies", [days([5.7, 4.8]), days([5.7, 5.75, 5.68, 5.8]), days([5.7, 5.7, 5.2, 5.7], width=2)]
)
def test_days_that_differ_little_or_are_not_known_are_not(entropies: list[Measured]) -> None:
    assert shifted_days(entropies) == ()


def test_a_day_of_one_visit_is_no_shift() -> None:
    """Entropy of few samples is too small, and one visit's has no interval: every such day was called another kind."""
    rng = np.random.default_rng(2)
    shares = 1 / np.arange(1, 301)
    y = [rng.multinomial(100, shares / shares.sum(), count) for count in (50, 50, 50, 50, 4, 1)]
    entropies = [entropy_of(table(day)) for day in y]
    assert entropies[5].exact
    assert 5 not in shifted_days(entropies)
    assert shifted_days(entropies, visits=[len(day) for day in y]) == ()
    assert shifted_days(entropies, samples=[float(day.sum()) for day in y]) == ()
    assert judge(fit(1), 1e6, entropies, day_visits=[len(day) for day in y]).badge is Badge.STEADY


def test_a_real_profile_has_a_badge() -> None:
    rng = np.random.default_rng(0)
    y = rng.multinomial(300, rng.dirichlet(np.ones(30)), size=60)
    found = judge(
        converge(table(y), y.sum(axis=1).astype(float), seed=0), float(y.sum()), [entropy_of(table(y))]
    )
    assert found.badge in {Badge.STEADY, Badge.FAIR}


def test_what_cannot_be_judged() -> None:
    with pytest.raises(NotANumber):
        judge(fit(1), 0)
    with pytest.raises(NotANumber):
        shifted_days([Measured(1, 0.9, np.nan)] * 3)
    with pytest.raises(BadShape):
        shifted_days(days([1.0, 2.0, 3.0]), visits=[9, 9])
