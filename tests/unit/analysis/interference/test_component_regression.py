"""GIVEN mixes of one piece WHEN they are fitted THEN the function is the paper's method's, and its verdicts hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.interference.component_regression import PieceFit, Plane, fit_piece

PUBLISHED = {
    "omnetpp": [(0.139, 0.034, 0.014), (0.363, 0.039, 0.059), (1.067, 0.023, 0.269)],
    "milc": [None, (0.168, 0.018, 0.062), (0.780, 0.037, 0.308)],
    "gromacs": [(0.021, 0.004, 0.007), (0.080, 0.010, 0.018), (0.231, 0.011, 0.049)],
    "leslie3d": [(0.027, 0.006, 0.006), (0.086, 0.009, 0.026), (0.424, 0.023, 0.149)],
    "lbm": [None, (0.106, 0.017, 0.031), None],
}
"""DIGEST I5: standardised pressures; a piece below the target's own bandwidth has none, lbm's last is lost."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_papers_functions(name: str) -> None:
    """At mean pressure PD is the intercept; a deviation more of both adds both slopes; and it rises from piece to piece."""
    planes = [Plane(*found) for found in PUBLISHED[name] if found]
    for plane in planes:
        assert plane.at(0, 0) == plane.intercept
        assert plane.at(1, 1) == pytest.approx(plane.intercept + plane.cache + plane.bandwidth)
    assert [plane.at(0, 0) for plane in planes] == sorted(plane.at(0, 0) for plane in planes)
    assert [plane.bandwidth for plane in planes] == sorted(plane.bandwidth for plane in planes)


def test_omnetpp_evaluated() -> None:
    low, middle, high = (Plane(*found) for found in PUBLISHED["omnetpp"] if found)
    assert low.at(1, 1) == pytest.approx(0.187)
    assert middle.at(-1, 2) == pytest.approx(0.442)
    assert high.at(0.5, -0.5) == pytest.approx(0.944)


def made(
    rng: np.random.Generator, n: int, noise: float = 0.01, alike: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """A plane in two pressures with this correlation."""
    common = rng.normal(0, 1, n)
    c = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.normal(0, 1, n)
    b = np.sqrt(alike) * common + np.sqrt(1 - alike) * rng.normal(0, 1, n)
    x = np.column_stack([50 + 10 * c, 6 + 1.5 * b]).clip(0.1)
    return x, 0.363 + 0.0039 * (x[:, 0] - 50) + 0.0393 * (x[:, 1] - 6) + rng.normal(0, noise, n)


def test_a_plane_is_found() -> None:
    rng = np.random.default_rng(0)
    x, y = made(rng, 60)
    found = fit_piece(x, y)
    assert found.components.all()
    assert found.plane.cache / found.sigma[0] == pytest.approx(0.0039, rel=0.1)
    assert found.plane.bandwidth / found.sigma[1] == pytest.approx(0.0393, rel=0.1)
    assert found.r2 > 0.95
    assert found.f_p < 1e-10
    assert (found.t_p < 0.05).all()
    assert found.explained.sum() == pytest.approx(1)
    assert found.explained[0] > 0.8
    assert found.value(x.mean(axis=0)) == pytest.approx(found.plane.intercept)


def test_components_explain_what_their_correlation_says() -> None:
    """DIGEST I4: of two standardised pressures the components explain (1 ± correlation)/2, so 88.36 % means 0.77."""
    x, y = made(np.random.default_rng(1), 200)
    found = fit_piece(x, y)
    assert found.explained[0] == pytest.approx((1 + np.corrcoef(x.T)[0, 1]) / 2)
    assert pytest.approx(0.77, abs=0.003) == 2 * 0.8836 - 1


def test_a_component_that_explains_nothing_is_removed() -> None:
    """leslie3d's first piece: only the first component is left, and both pressures have the same slope."""
    rng = np.random.default_rng(2)
    x, _ = made(rng, 80)
    standard = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    found = fit_piece(x, 0.027 + 0.0061 * standard.sum(axis=1) + rng.normal(0, 0.001, 80))
    assert found.components.tolist() == [True, False]
    assert found.plane.cache == pytest.approx(found.plane.bandwidth)
    assert found.plane.cache == pytest.approx(0.0061, rel=0.1)


def test_outliers_are_removed_and_counted() -> None:
    rng = np.random.default_rng(3)
    x, y = made(rng, 60)
    clean = fit_piece(x, y)
    y[[5, 17]] += 0.5
    found = fit_piece(x, y)
    assert found.outliers >= 2
    assert found.observations == 60
    assert found.plane.at(1, 1) == pytest.approx(clean.plane.at(1, 1), abs=0.01)
    assert found.outliers <= 15


def test_degradation_without_pressure_is_a_constant() -> None:
    rng = np.random.default_rng(11)
    x, _ = made(rng, 60)
    found = fit_piece(x, 0.05 + rng.normal(0, 0.01, 60))
    assert not found.components.any()
    assert found.f_p == 1
    assert found.value(x[0]) == pytest.approx(0.05, abs=0.01)
    assert found.half_width(x[0]) > 0


def test_pressures_that_are_one_and_the_same() -> None:
    rng = np.random.default_rng(5)
    c = rng.uniform(1, 10, 30)
    found = fit_piece(np.column_stack([c, 2 * c]), 0.01 * c)
    assert found.components.tolist() == [True, False]
    assert found.value(np.array([5.0, 10.0])) == pytest.approx(0.05)


def test_a_pressure_that_does_not_vary_says_nothing() -> None:
    c = np.linspace(1, 10, 30)
    found = fit_piece(np.column_stack([c, np.full(30, 3.0)]), 0.01 * c)
    assert found.plane.bandwidth == pytest.approx(0)
    assert found.value(np.array([5.0, 99.0])) == pytest.approx(0.05)


def test_intervals_hold_other_mixes() -> None:
    rng = np.random.default_rng(6)
    inside = 0
    for _ in range(200):
        found = fit_piece(*made(rng, 40))
        x, y = made(rng, 1)
        inside += abs(found.value(x[0]) - y[0]) <= found.half_width(x[0])
    assert inside / 200 >= 0.92


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 1000))
def test_units_of_pressure_do_not_matter(seed: int, factor: float) -> None:
    x, y = made(np.random.default_rng(seed), 25)
    one, other = fit_piece(x, y), fit_piece(x * [factor, 1], y)
    assert isinstance(one, PieceFit)
    assert one.value(x[3]) == pytest.approx(other.value(x[3] * [factor, 1]), abs=1e-9)


def test_what_cannot_be_said() -> None:
    x, y = made(np.random.default_rng(7), 20)
    with pytest.raises(InsufficientData):
        fit_piece(x[:7], y[:7])
    with pytest.raises(Constant):
        fit_piece(np.ones((20, 2)), y)
    with pytest.raises(NotANumber):
        fit_piece(np.where(x > x.max() - 1e-9, np.nan, x), y)
    with pytest.raises(NotANumber):
        fit_piece(x, np.full(20, np.inf))
    with pytest.raises(BadShape):
        fit_piece(x, y[:5])
