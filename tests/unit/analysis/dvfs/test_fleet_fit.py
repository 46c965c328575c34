"""GIVEN visits of machines at several frequencies WHEN A/f + B is fitted THEN it is found, and its interval knows of machines."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.fleet_fit import from_frequencies
from analysis.dvfs.jackknife import steps_of
from analysis.errors import BadShape, Constant, Contradictory, InsufficientData, NotANumber

GHZ = 1e9
A, B = 0.8, 0.1e-9
"""Cycles, and seconds, of an instruction."""


def fleet(  # noqa: PLR0917 - what a fleet is like
    rng: np.random.Generator,
    machines: int = 30,
    visits: int = 8,
    ghz: tuple[float, ...] = (1.6, 2.0, 2.4),
    noise: float = 0.05,
    own: float = 0.05,
    shares: tuple[float, ...] | None = None,
) -> dict[str, Any]:
    """Machines with a frequency and a speed of their own, and visits that scatter around that."""
    hertz = rng.choice(ghz, machines, p=shares) * GHZ
    speed = rng.lognormal(0, own, machines)
    machine = np.repeat(np.arange(machines), visits)
    instructions = rng.gamma(2, 1e9, len(machine))
    each = (A / hertz + B)[machine] * speed[machine] * rng.lognormal(0, noise, len(machine))
    seconds = instructions * each
    return {
        "weight": np.ones(len(machine)),
        "machine": machine,
        "seconds": seconds,
        "cycles": seconds * hertz[machine],
        "instructions": instructions,
    }


def waits(ghz: float) -> float:
    return B / (A / (ghz * GHZ) + B)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([1.2, 1.9, 2.4, 3.1]))
def test_exact_visits_give_the_truth(seed: int, base: float) -> None:
    visits = fleet(np.random.default_rng(seed), noise=0, own=0)
    found = from_frequencies(**visits, base_hz=base * GHZ)
    assert found.on_chip_cycles.value == pytest.approx(A)
    assert found.waiting_s.value == pytest.approx(B)
    model = found.sensitivity
    assert model.off_chip_share.value == pytest.approx(waits(base))
    assert model.slowdown(1 * GHZ).value == pytest.approx((A + 1e9 * B) / (A / base + 1e9 * B) - 1)
    for step in found.steps:
        assert step.fitted == pytest.approx(step.seconds) == pytest.approx(A / step.hertz + B)
        assert step.held_out == pytest.approx(0, abs=1e-9)
        assert step.naive is not None
    assert sum(step.visits for step in found.steps) == len(visits["seconds"])
    assert not found.clipped


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.floats(0.01, 1e3), st.floats(0.1, 10))
def test_units_of_weight_and_work_do_not_matter(seed: int, weight: float, work: float) -> None:
    visits = fleet(np.random.default_rng(seed))
    plain = from_frequencies(**visits)
    scaled = {name: visits[name] * work for name in ("seconds", "cycles", "instructions")}
    other = from_frequencies(visits["weight"] * weight, visits["machine"], **scaled)
    for one in ("value", "lo", "hi"):
        share, same = (getattr(each.sensitivity.off_chip_share, one) for each in (plain, other))
        assert share == pytest.approx(same, abs=1e-9)
    assert plain.sensitivity.base_hz == pytest.approx(other.sensitivity.base_hz)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machines", "visits", "ghz", "shares"),
    [
        (30, 8, (1.6, 2.0, 2.4), None),
        (60, 3, (1.92, 2.4), (0.1, 0.9)),
        (12, 20, (1.6, 2.4), None),
        (200, 1, (1.2, 1.5, 1.8, 2.1, 2.4), None),
    ],
)
def test_the_interval_holds_the_truth(
    machines: int, visits: int, ghz: tuple[float, ...], shares: tuple[float, ...] | None
) -> None:
    rng = np.random.default_rng(5)
    held = given = 0
    for _ in range(400):
        try:
            of = fleet(rng, machines, visits, ghz, shares=shares)
            found = from_frequencies(**of, base_hz=2.0 * GHZ).sensitivity
        except Constant:  # by chance all machines are of one frequency
            continue
        if found.off_chip_share.lo == 0 and found.off_chip_share.hi == 1:
            continue
        given += 1
        held += found.off_chip_share.holds(waits(2.0))
    assert given > 300
    assert 0.92 <= held / given <= 0.985


def test_visits_alone_would_promise_too_much() -> None:
    """Few machines, many visits: what each machine is like stays in the interval."""
    rng = np.random.default_rng(1)
    by_machine = from_frequencies(**fleet(rng, 10, 200, noise=0.02, own=0.1)).sensitivity.off_chip_share
    rng = np.random.default_rng(1)
    visits = fleet(rng, 10, 200, noise=0.02, own=0.1)
    alone = {**visits, "machine": np.arange(len(visits["machine"]))}
    by_visit = from_frequencies(**alone).sensitivity.off_chip_share
    assert by_machine.hi - by_machine.lo > 4 * (by_visit.hi - by_visit.lo)


def test_one_machine_alone_at_its_frequency_bounds_nothing() -> None:
    visits = fleet(np.random.default_rng(0), 10, 20, (2.4,))
    slow = visits["machine"] == 3
    visits["cycles"] = np.where(slow, visits["cycles"] * 0.7, visits["cycles"])
    share = from_frequencies(**visits).sensitivity
    assert (share.off_chip_share.lo, share.off_chip_share.hi) == (0, 1)
    assert share.low_confidence


def test_one_machine_in_all_says_something_of_itself() -> None:
    rng = np.random.default_rng(0)
    visits = fleet(rng, 40, 5, own=0)
    share = from_frequencies(**{**visits, "machine": np.zeros(200, np.int64)}).sensitivity.off_chip_share
    assert 0 < share.lo < share.value < share.hi < 1


def test_load_that_goes_with_the_frequency_is_told() -> None:
    rng = np.random.default_rng(0)
    visits = fleet(rng)
    hertz = visits["cycles"] / visits["seconds"]
    assert from_frequencies(**visits).load_correlation is None
    assert from_frequencies(**visits, load=np.full(len(hertz), 0.5)).load_correlation is None
    even = from_frequencies(**visits, load=rng.uniform(0, 1, len(hertz))).load_correlation
    assert even is not None
    assert even < 0.2
    going = hertz / GHZ + 0.01 * rng.normal(size=len(hertz))
    known = from_frequencies(**visits, load=going).load_correlation
    assert known is not None
    assert known > 0.95


def test_crowding_does_not_pass_for_frequency() -> None:
    """Fast machines are the crowded ones, and a crowded chip slows everyone down."""
    rng = np.random.default_rng(3)
    visits = fleet(rng, 60, noise=0.01, own=0.01)
    hertz = visits["cycles"] / visits["seconds"]
    load = np.clip(10 + 5 * (hertz / GHZ - 2) + 3 * rng.normal(size=len(hertz)), 0, None)
    slower = 1 + 0.03 * (load - 10)
    visits = {**visits, "seconds": visits["seconds"] * slower, "cycles": visits["cycles"] * slower}
    both = np.stack([load, rng.uniform(size=len(load))], axis=1)
    share = from_frequencies(**visits, base_hz=2 * GHZ, load=both).sensitivity.off_chip_share
    assert share.value == pytest.approx(waits(2.0), abs=0.03)
    plain = from_frequencies(**visits, base_hz=2 * GHZ).sensitivity.off_chip_share
    assert plain.value > waits(2.0) + 0.1


def test_load_that_is_frequency_by_another_name_is_refused() -> None:
    visits = fleet(np.random.default_rng(0), ghz=(1.6, 2.4))
    with pytest.raises(Constant, match="load of machines"):
        from_frequencies(**visits, load=visits["cycles"] / visits["seconds"])


def test_a_compute_bound_application_is_clipped_by_chance() -> None:
    rng = np.random.default_rng(0)
    clipped = 0
    for _ in range(50):
        visits = fleet(rng)
        visits["seconds"] = visits["cycles"] / (visits["cycles"] / visits["seconds"])
        hertz = visits["cycles"] / visits["seconds"]
        visits["seconds"] = visits["instructions"] * A / hertz * rng.lognormal(0, 0.05, len(hertz))
        visits["cycles"] = visits["seconds"] * hertz
        found = from_frequencies(**visits)
        assert found.sensitivity.off_chip_share.lo == 0
        clipped += found.clipped
    assert 15 <= clipped <= 35


def changed(**columns: Any) -> dict[str, Any]:
    return {**fleet(np.random.default_rng(0)), **columns}


@pytest.mark.parametrize(
    ("visits", "error"),
    [
        (fleet(np.random.default_rng(0), 2, 1), InsufficientData),
        (fleet(np.random.default_rng(0), 0, 1), InsufficientData),
        (changed(weight=np.zeros(240)), InsufficientData),
        (fleet(np.random.default_rng(0), ghz=(2.0,)), Constant),
        (fleet(np.random.default_rng(0), ghz=(2.0, 2.1)), Constant),
        (changed(weight=np.full(240, np.nan)), NotANumber),
        (changed(seconds=np.full(240, np.nan)), NotANumber),
        (changed(instructions=np.zeros(240)), NotANumber),
        (changed(cycles=np.ones(240)), NotANumber),
        (changed(machine=np.zeros(3, np.int64)), BadShape),
    ],
)
def test_what_cannot_be_said(visits: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_frequencies(**visits)


@pytest.mark.parametrize(("power", "why"), [(2.0, "faster by more"), (-1.0, "take longer")])
def test_what_no_frequency_does(power: float, why: str) -> None:
    visits = fleet(np.random.default_rng(0), noise=0.01, own=0.01)
    hertz = visits["cycles"] / visits["seconds"]
    visits["seconds"] = visits["instructions"] * 1e-9 * (2 * GHZ / hertz) ** power
    visits["cycles"] = visits["seconds"] * hertz
    with pytest.raises(Contradictory, match=why):
        from_frequencies(**visits)


def test_frequencies_that_jitter_are_one() -> None:
    hertz = np.array([2.4, 2.401, 1.6, 2.399, 1.601, 1.7, 1.69])
    assert steps_of(hertz).tolist() == [2, 2, 0, 2, 0, 1, 1]
