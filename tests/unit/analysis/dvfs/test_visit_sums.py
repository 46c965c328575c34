"""GIVEN what an application did in many visits WHEN it is added up THEN its dependence on the frequency is that of visits one by one."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from analysis import estimate, moments
from analysis.dvfs.one_run import from_counters
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.dvfs.visit_sums import VisitSums, cells_of, sensitivity, sum_up, together
from analysis.errors import BadShape, Contradictory, InsufficientData, NotANumber, Unreachable
from analysis.weights import Frame, equal, weigh
from tests.unit.analysis.dvfs.published import BASE


def visits(rng: np.random.Generator, count: int, share: float) -> dict[str, np.ndarray]:
    """Visits of an application that waits `share` of its time at the base frequency; each at a frequency of its own."""
    work = rng.gamma(4, 1.0, count)
    hertz = rng.choice([1.2e9, 1.6e9, 2.4e9], count)
    off = work * np.clip(rng.normal(share, share / 4, count), 0, 0.9)
    return {"seconds": (work - off) * BASE / hertz + off, "hertz": hertz, "misses": off / 90e-9}


def ask(found: dict[str, np.ndarray], **change: Any) -> FleetSensitivity:
    count = len(found["seconds"])
    cells = cells_of(np.ones(count), np.zeros(count, np.int64))
    asked: dict[str, Any] = {"latency_s": 90e-9, "base_hz": BASE, **found, **change}
    sums = sum_up(cells, visit=np.arange(count), application=np.zeros(count, np.int64), **asked)
    return sensitivity(sums, cells, equal(np.array([float(count)])), asked["base_hz"])


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
    with pytest.raises(InsufficientData):
        ask({name: values[:1] for name, values in good.items()})
    with pytest.raises(Contradictory):
        ask(good, latency_s=90e-8)
    with pytest.raises(NotANumber):
        ask(good, hertz=np.zeros(10))
    with pytest.raises(BadShape):
        ask(good, misses=good["misses"][:5])


def ask_for(seconds: list[float], hertz: list[float], misses: list[float]) -> FleetSensitivity:
    found = {"seconds": np.array(seconds), "hertz": np.array(hertz), "misses": np.array(misses)}
    return ask(found, latency_s=1e-7, base_hz=1e9)


def test_visits_with_nothing_left_on_the_chip_are_refused() -> None:
    """Two of four visits of 10 s had misses of 16 s at three times the base frequency, more than the others make up for."""
    with pytest.raises(Contradictory, match="remains on the chip"):
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
    with pytest.raises(InsufficientData):
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


def test_sums_in_parts_say_what_visits_say_one_by_one() -> None:
    """Visits of several weights and groups, of three applications, added up in four parts."""
    rng = np.random.default_rng(6)
    count, latency = 400, 90e-9
    stratum, klass = rng.integers(0, 6, count), rng.integers(0, 5, count)
    visited = np.zeros((6, 5))
    np.add.at(visited, (stratum, klass), 1)
    weights = weigh(
        Frame(
            stratum=np.arange(6) % 3,
            day=np.arange(6) // 3,
            population=np.full(6, 500.0),
            covered_s=np.full(6, 86_400.0),
            drawn=visited,
            visits=visited,
            watched_s=visited * 5,
        )
    )
    weight, group = weights.weight[stratum, klass], weights.group[stratum, klass]
    pairs = np.flatnonzero(rng.random(count * 3) < 0.7)
    visit, application = pairs // 3, pairs % 3
    seconds, misses = rng.poisson(2.0, len(pairs)) * 0.01, rng.poisson(1.0, len(pairs)) * 4e4
    hertz = rng.choice([1.2e9, 2e9, 3e9], count)[visit]
    cells = cells_of(weight, group)
    parts = [
        sum_up(
            cells, visit=visit[some], application=application[some], seconds=seconds[some], hertz=hertz[some],
            misses=misses[some], latency_s=latency, base_hz=BASE,
        )
        for some in np.array_split(np.argsort(visit, kind="stable"), 4)
    ]  # fmt: skip
    found = together(parts)
    assert len(found) < len(pairs) / 2
    for each in range(3):
        mine = application == each
        off = misses[mine] * latency
        both = (seconds[mine] - off) * hertz[mine] / BASE + off
        seen = np.flatnonzero(off)
        expected = estimate.shares(
            moments.from_visits(
                weight[visit[mine]], group[visit[mine]], weights,
                x=both, row=np.zeros(len(seen), np.int64), visit=seen, y=off[seen], rows=1,
            )
        )  # fmt: skip
        model = sensitivity(found.of(found.application == each), cells, weights, BASE)
        assert model.visits == mine.sum()
        assert model.low_confidence == expected.low_confidence[0]
        for ours, theirs in zip(
            (model.off_chip_share.value, model.off_chip_share.lo, model.off_chip_share.hi),
            (expected.value[0], expected.lo[0], expected.hi[0]),
            strict=True,
        ):
            assert ours == pytest.approx(theirs, rel=1e-9)


def test_nothing_is_added_up_to_nothing() -> None:
    none = np.zeros(0)
    ints = np.zeros(0, np.int64)
    found = sum_up(
        cells_of(none, ints), visit=ints, application=ints, seconds=none, hertz=none, misses=none,
        latency_s=none, base_hz=BASE,
    )  # fmt: skip
    assert len(found) == 0
    assert all(len(getattr(found, each.name)) == 0 for each in fields(VisitSums))
