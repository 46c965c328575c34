"""GIVEN runs under several configurations WHEN events are coupled with parameters THEN the one that acts is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.event_mining.coupling import couple, dependence


def made(
    rng: np.random.Generator, n: int = 200
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Memory acts through cache misses, best in the middle; cores through branch misses, which matter less."""
    memory, cores, codec = rng.integers(1, 9, n), rng.integers(1, 5, n), rng.integers(0, 3, n)
    misses = (memory - 4.5) ** 2 + rng.normal(0, 1.5, n)
    branches = cores + rng.normal(0, 0.3, n)
    seconds = 100 + 5 * misses + 2 * branches + rng.normal(0, 1, n)
    return (
        {"misses": misses, "branches": branches, "noise": rng.random(n)},
        {"memory": memory.astype(float), "cores": cores.astype(float), "codec": codec.astype(float)},
        seconds,
    )


def test_the_parameter_behind_the_event_that_matters_is_to_tune() -> None:
    events, parameters, seconds = made(np.random.default_rng(0))
    found = couple(events, parameters, seconds, seed=0)
    assert found.tune == "memory"
    assert (found.pairs[0].event, found.pairs[0].parameter) == ("misses", "memory")
    assert found.event_importance["misses"] > found.event_importance["noise"]
    assert sum((*found.event_importance.values(), *found.parameter_importance.values())) == pytest.approx(1)
    assert not any(pair.significant for pair in found.pairs if pair.event == "noise")
    assert found == couple(events, parameters, seconds, seed=0)


def test_parameters_that_do_nothing_are_not_tuned() -> None:
    rng = np.random.default_rng(1)
    events = {"a": rng.random(100), "b": rng.random(100)}
    found = couple(events, {"x": rng.integers(0, 4, 100)}, 10 + events["a"], seed=0)
    assert found.tune is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(20, 80))
def test_dependence_is_kruskals_and_walliss(seed: int, levels: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    parameter = rng.integers(0, levels, n).astype(float)
    values = np.round(rng.normal(0, 1, n) + 0.3 * parameter, 1)
    groups = [values[parameter == level] for level in np.unique(parameter)]
    if len(groups) < 2:
        return
    h, p = stats.kruskal(*groups)
    share, got = dependence(values, parameter)
    assert got == pytest.approx(p)
    assert share == pytest.approx(np.clip((h - len(groups) + 1) / (n - len(groups)), 0, 1))


def test_dependence_on_nothing() -> None:
    assert dependence(np.ones(20), np.arange(20.0)) == (0, 1)
    assert dependence(np.arange(20.0), np.ones(20)) == (0, 1)
    share, p = dependence(np.arange(600.0), np.arange(600.0))
    assert share > 0.9
    assert p < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_where_a_parameter_is_not_known_says_nothing_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, parameter = rng.random(80), rng.integers(0, 3, 80).astype(float)
    unknown = rng.random(80) < 0.4
    values[unknown] += 10.0  # another kind of machine
    known = dependence(values[~unknown], parameter[~unknown])
    parameter[unknown] = np.nan
    assert dependence(values, parameter) == known


def test_machines_without_a_clock_are_no_reason_to_tune_it() -> None:
    rng = np.random.default_rng(4)
    virtual = np.arange(200) % 2 == 0
    misses = rng.normal(5, 0.1, 200) + 10 * virtual
    clock = np.where(virtual, np.nan, rng.choice([2400.0, 2500.0], 200))
    found = couple({"misses": misses}, {"clock": clock}, 10 + misses, seed=0)
    assert found.tune is None
    assert (found.samples, found.pairs[0].dependence < 0.05) == (200, True)
    governor = virtual.astype(float)
    found = couple({"misses": misses}, {"clock": clock, "governor": governor}, 10 + misses, seed=0)
    assert found.tune == "governor", "of others these machines say as much as any"
    clock = np.where(virtual, np.nan, np.where(misses > 5, 2400.0, 2500.0))
    assert couple({"misses": misses}, {"clock": clock}, 10 + misses, seed=0).tune == "clock"


def test_what_cannot_be_coupled() -> None:
    events, parameters, seconds = made(np.random.default_rng(2), 60)
    with pytest.raises(InsufficientData):
        couple({}, parameters, seconds, seed=0)
    with pytest.raises(InsufficientData):
        couple(events, {}, seconds, seed=0)
    with pytest.raises(BadShape):
        couple({str(number): events["noise"] for number in range(11)}, parameters, seconds, seed=0)
    with pytest.raises(BadShape):
        couple({"a": np.ones(3)}, parameters, seconds, seed=0)
    with pytest.raises(Constant):
        couple(events, parameters, np.ones(60), seed=0)
    with pytest.raises(NotANumber):
        couple(events, parameters, np.zeros(60), seed=0)
    with pytest.raises(NotANumber):
        couple(events, {"memory": np.full(60, np.nan)}, seconds, seed=0)
    with pytest.raises(NotANumber):
        couple(events, {"memory": np.array([np.inf, np.nan] * 30)}, seconds, seed=0)
