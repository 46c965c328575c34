"""GIVEN the counters of one run, or of many visits WHEN frequencies are asked THEN the paper's model answers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.one_run import from_counters, from_visits
from analysis.errors import BadShape, Contradictory, NotANumber, TooLittle, Unreachable
from analysis.weights import equal
from tests.unit.analysis.dvfs.published import BASE, GHZ, MCF


def test_the_papers_example() -> None:
    """DIGEST D4, to every digit printed."""
    found = from_counters(**MCF)
    assert round(found.miss_share, 9) == 0.001475463
    assert round(found.cpi_on_chip, 4) == 1.0066
    assert round(found.model.on_chip_cycles / GHZ, 4) == 571.1685
    assert round(found.model.off_chip_s, 4) == 76.2962
    assert found.model.performance(2 * GHZ, BASE) == pytest.approx(552.27 / (571.1685 / 2 + 76.2962))


@settings(deadline=None)
@given(
    st.floats(1e9, 1e13), st.floats(0, 0.02), st.floats(0.3, 5), st.floats(2e-8, 3e-7), st.floats(5e8, 5e9)
)
def test_the_run_itself_comes_back(i: float, r: float, cpi: float, latency: float, hertz: float) -> None:
    seconds = i * r * latency + i * (1 - r) * cpi / hertz
    found = from_counters(i, i * r, seconds, hertz, latency)
    assert found.model.time(hertz) == pytest.approx(seconds)
    assert found.cpi_on_chip == pytest.approx(cpi, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"instructions": 0}, NotANumber),
        ({"instructions": np.nan}, NotANumber),
        ({"misses": -1}, NotANumber),
        ({"seconds": 0}, NotANumber),
        ({"hertz": np.inf}, NotANumber),
        ({"latency_s": 0}, NotANumber),
        ({"misses": MCF["instructions"]}, Contradictory),
        ({"latency_s": 700e-9}, Contradictory),
    ],
)
def test_what_cannot_be_said(change: dict[str, float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_counters(**{**MCF, **change})


def visits(rng: np.random.Generator, count: int, share: float) -> dict[str, np.ndarray]:
    """Visits of an application that waits `share` of its time at the base frequency; each at a frequency of its own."""
    work = rng.gamma(4, 1.0, count)
    hertz = rng.choice([1.2e9, 1.6e9, 2.4e9], count)
    off = work * np.clip(rng.normal(share, share / 4, count), 0, 0.9)
    return {"seconds": (work - off) * BASE / hertz + off, "hertz": hertz, "misses": off / 90e-9}


def ask(found: dict[str, np.ndarray], **change: object):
    count = len(found["seconds"])
    weights = equal(np.array([float(count)]))
    return from_visits(
        np.ones(count),
        np.zeros(count, np.int64),
        weights,
        **{"latency_s": 90e-9, "base_hz": BASE, **found, **change},
    )


def test_visits_at_several_frequencies_are_one_application() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        found = ask(visits(rng, 80, 0.2))
        inside += found.off_chip_share.holds(0.2)
        assert found.visits == 80
    assert 0.9 <= inside / 200 <= 0.99


def test_a_fleets_slowdown_has_an_interval() -> None:
    found = ask(visits(np.random.default_rng(1), 200, 0.2))
    slower, same, faster = (found.slowdown(f) for f in (0.6e9, BASE, 2.4e9))
    assert slower.lo < slower.value < slower.hi
    assert slower.value == pytest.approx(0.8, abs=0.05)
    assert same.lo == same.value == same.hi == 0
    assert faster.lo < faster.value < faster.hi < 0
    target = found.lowest_frequency(0.9)
    assert target.lo < target.value < target.hi < BASE
    model = from_counters(1e10, 0.2 / 90e-9, 1, BASE, 90e-9).model
    assert target.value == pytest.approx(model.lowest_frequency(0.9, BASE), rel=0.02)


def test_an_end_without_a_frequency_is_infinite() -> None:
    found = ask(visits(np.random.default_rng(2), 20, 0.4))
    edge = 1 / ((found.off_chip_share.value + found.off_chip_share.hi) / 2)
    assert found.lowest_frequency(edge).hi == np.inf
    with pytest.raises(Unreachable):
        found.lowest_frequency(1 / found.off_chip_share.value + 0.01)


def test_visits_of_which_nothing_can_be_said() -> None:
    good = visits(np.random.default_rng(3), 10, 0.2)
    with pytest.raises(TooLittle):
        ask({name: values[:1] for name, values in good.items()})
    with pytest.raises(Contradictory):
        ask(good, latency_s=90e-8)
    with pytest.raises(NotANumber):
        ask(good, hertz=np.zeros(10))
    with pytest.raises(BadShape):
        ask(good, misses=good["misses"][:5])


def ask_for(seconds: list[float], hertz: list[float], misses: list[float]):
    found = {"seconds": np.array(seconds), "hertz": np.array(hertz), "misses": np.array(misses)}
    return ask(found, latency_s=1e-7, base_hz=1e9)


def test_visits_with_nothing_left_on_the_chip_are_refused() -> None:
    """Two of four visits of 10 s had misses of 16 s at three times the base frequency, more than the others make up for."""
    with pytest.raises(Contradictory, match="left on the chip"):
        ask_for([10.0] * 4, [3e9, 3e9, 1e9, 1e9], [1.6e8, 1.6e8, 2e7, 2e7])


def test_a_small_visit_with_more_misses_than_time_takes_nothing_away() -> None:
    """Of 0.01 s sampled and 0.1 s of misses, at three times the base frequency: at the base it took less than nothing."""
    found = ask_for([10.0] * 5 + [0.01], [1e9] * 5 + [3e9], [2e7] * 5 + [1e6])
    assert found.visits == 6
    share = (5 * 2 + 0.1) / (5 * 10 + (0.01 - 0.1) * 3 + 0.1)
    assert found.off_chip_share.value == pytest.approx(share)
    assert 0 <= found.off_chip_share.lo < share < found.off_chip_share.hi <= 1


def test_a_visit_that_saw_misses_and_no_time_counts() -> None:
    found = ask_for([10.0, 0.0, 10.0, 10.0], [1e9] * 4, [0, 3e7, 1e7, 2e7])
    assert found.off_chip_share.value == pytest.approx(0.2)
    with pytest.raises(TooLittle):
        ask_for([0.0] * 4, [1e9] * 4, [1e7] * 4)


def test_samples_of_a_small_application_are_unbiased() -> None:
    """A sample of time and one of misses a visit, on average, each by chance: intervals hold the share as often as they say."""
    rng = np.random.default_rng(5)
    inside, values = 0, []
    for _ in range(200):
        seconds, misses = rng.poisson(1.0, 300) * 0.01, rng.poisson(1.0, 300) * 4e4
        share = ask_for(list(seconds), list(rng.choice([1e9, 2e9, 3e9], 300)), list(misses)).off_chip_share
        # Of 10 ms, 4 wait; the others take twice as long at the base frequency, on average.
        inside += share.holds(4 / 16)
        values.append(share.value)
    assert np.mean(values) == pytest.approx(4 / 16, rel=0.02)
    assert inside >= 180


def test_an_application_that_never_waits_has_an_upper_bound() -> None:
    found = ask({**visits(np.random.default_rng(4), 50, 0.2), "misses": np.zeros(50)})
    assert found.off_chip_share.value == found.off_chip_share.lo == 0
    assert found.off_chip_share.hi > 0
    assert replace(found, visits=1).visits == 1
