"""GIVEN stress tests WHEN the overlap coefficient is asked THEN it is the paper's, with what repetitions say of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Contradictory, InsufficientData, NotANumber
from analysis.smt.overlap import Effect, from_throughput, from_times, mixed


def test_the_papers_examples() -> None:
    """DIGEST A1: six blocks of time instead of five; Table 1's throughputs."""
    assert from_times(6, 5) == pytest.approx(1.2)
    found = from_throughput(2_499_904, 2_274_404)
    assert round(found.coefficient, 3) == 2.198
    assert found.effect is Effect.HARMS
    assert (found.lo, found.hi) == (1, np.inf)


@pytest.mark.parametrize(
    ("both", "effect"), [(1900.0, Effect.HELPS), (1000.0, Effect.NEUTRAL), (800.0, Effect.HARMS)]
)
def test_effect_is_by_the_interval(both: float, effect: Effect) -> None:
    noise = np.array([0.99, 1.0, 1.01])
    found = from_throughput(1000 * noise, both * noise)
    assert found.effect is effect
    assert found.lo < found.coefficient < found.hi
    assert found.repetitions == 3


def test_the_interval_holds_the_truth() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(400):
        single, both = rng.normal(100, 3, 4), rng.normal(130, 8, 6)
        found = from_throughput(single, both)
        inside += found.lo <= 2 * 100 / 130 <= found.hi
    assert 0.92 <= inside / 400 <= 0.98


def test_alike_repetitions_have_no_width() -> None:
    found = from_throughput([100, 100], [120, 120])
    assert found.lo == pytest.approx(found.hi)


@pytest.mark.parametrize(
    ("single", "both", "error"),
    [
        ([], [1.0], InsufficientData),
        ([1.0], [], InsufficientData),
        ([1.0], [np.nan], NotANumber),
        ([0.0], [1.0], NotANumber),
        ([100.0], [300.0], Contradictory),
        ([100.0, 101.0], [300.0, 301.0], Contradictory),
    ],
)
def test_what_cannot_be_said(single: list[float], both: list[float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_throughput(single, both)


def test_times_that_contradict() -> None:
    with pytest.raises(Contradictory):
        from_times(4, 5)
    with pytest.raises(NotANumber):
        from_times(6, 0)


def test_noise_below_one_is_one() -> None:
    found = from_throughput(100.0, 201.0)
    assert found.coefficient == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(1, 4), st.floats(0.1, 1e6)), min_size=1, max_size=6))
def test_a_mix_is_between_its_parts(parts: list[tuple[float, float]]) -> None:
    coefficients, time = zip(*parts, strict=True)
    assert min(coefficients) <= mixed(coefficients, time) <= max(coefficients)


def test_a_mix_of_ones_is_one() -> None:
    """As utilisation asks for it: 1 - 2⁻⁵³ is no coefficient, and one mix of eleven came out so."""
    for n in range(2, 40):
        assert mixed([1.0] * n, [1 / (k + 3) for k in range(n)]) == 1


def test_mixes_that_cannot_be() -> None:
    with pytest.raises(InsufficientData):
        mixed([], [])
    with pytest.raises(NotANumber):
        mixed([0.9], [1.0])
    with pytest.raises(BadShape):
        mixed([1.2, 1.3], [1.0])
