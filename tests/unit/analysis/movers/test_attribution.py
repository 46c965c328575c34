"""GIVEN two days WHEN a function's share changed for a known reason THEN that reason is named, and nothing else is."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.movers.attribution import Attribution, Kind, attribute
from tests.unit.analysis.movers.made_days import DIMENSIONS, Share, day, flat


def asked(seed: int, share_now: Share, share_before: Share | None = None, **rolled_out: float) -> Attribution:
    rng = np.random.default_rng(seed)
    before = day(rng, 0, share_before or share_now)
    return attribute(day(rng, 1, share_now, **rolled_out), before, DIMENSIONS, seed=1)


def by_version(values: dict[str, np.ndarray]) -> np.ndarray:
    return np.where(values["version"] == 1, 0.10, 0.05)


def test_a_roll_out_is_a_mix() -> None:
    found = asked(0, by_version, version=0.4)
    assert found.cause is not None
    assert (found.cause.dimension, found.cause.kind, found.cause.value) == ("version", Kind.MIX, 1)
    assert found.cause.explained.value == pytest.approx(1, abs=0.35)
    assert found.cause.explained.lo < 1 < found.cause.explained.hi * 1.2
    assert found.inseparable == ()
    assert found.now - found.before == pytest.approx(found.delta.value)
    assert found.delta.holds(0.02)
    assert found.visits == (150, 150)


@pytest.mark.parametrize(("dimension", "value"), [("datacenter", 1), ("platform", 0), ("kernel", 1)])
def test_a_change_in_one_place_is_within(dimension: str, value: int) -> None:
    def now(values: dict[str, np.ndarray]) -> np.ndarray:
        return np.where(values[dimension] == value, 0.09, 0.05)

    found = asked(3, now, flat)
    assert found.cause is not None
    assert (found.cause.dimension, found.cause.kind, found.cause.value) == (dimension, Kind.WITHIN, value)


def test_a_new_compiler_of_a_new_release_cannot_be_told_from_it() -> None:
    found = asked(2, by_version, together=0.5)
    assert found.cause is not None
    assert found.cause.dimension in {"version", "compiler"}
    assert {one.dimension for one in found.inseparable} == {"version", "compiler"} - {found.cause.dimension}


def test_a_change_everywhere_has_no_cause_among_the_dimensions() -> None:
    found = asked(4, lambda values: flat(values) * 1.5, flat)
    assert found.delta.lo > 0
    assert found.cause is None


def test_chance_is_seldom_given_a_cause() -> None:
    blamed = sum(asked(seed, flat).cause is not None for seed in range(12))
    assert blamed <= 2


def test_the_same_seed_gives_the_same() -> None:
    assert asked(5, by_version, version=0.3) == asked(5, by_version, version=0.3)


def test_visits_of_both_sides_are_shuffled_in_pairs() -> None:
    rng = np.random.default_rng(6)
    one = day(rng, 0, flat)
    # The same visits asked about twice, with another version in the second selection.
    other = replace(
        one, values=np.add(one.values, [1, 0, 0, 0, 0]), y=np.minimum(np.round(one.y * 1.6), one.x)
    )
    found = attribute(other, one, DIMENSIONS, seed=0)
    assert found.cause is not None
    assert found.cause.dimension == "version"


def test_what_cannot_be_said() -> None:
    rng = np.random.default_rng(7)
    now, before = day(rng, 1, flat), day(rng, 0, flat)
    with pytest.raises(InsufficientData):
        attribute(day(rng, 2, flat, visits=7), before, DIMENSIONS, seed=0)
    with pytest.raises(InsufficientData):
        attribute(replace(now, x=0 * now.x, y=0 * now.y), before, DIMENSIONS, seed=0)
    with pytest.raises(Constant):
        attribute(now, now, DIMENSIONS, seed=0)
    with pytest.raises(BadShape):
        attribute(now, before, DIMENSIONS[:2], seed=0)
    with pytest.raises(NotANumber):
        replace(now, y=now.y * np.nan)
    with pytest.raises(NotANumber):
        replace(now, y=now.x + 1)
    with pytest.raises(NotANumber):
        replace(now, weight=-now.weight)
    with pytest.raises(BadShape):
        replace(now, visit=now.visit + 1000)
    with pytest.raises(BadShape):
        replace(now, key=now.key[:-1])
    with pytest.raises(BadShape):
        replace(now, x=now.x[:-1])


def test_thousands_of_rare_values_are_looked_at_together() -> None:
    """Every visit has a kernel of its own, beside a release that is rolled out."""
    rng = np.random.default_rng(8)
    before, now = (day(rng, number, by_version, visits=300, version=0.4 * number) for number in (0, 1))
    kernels = [
        np.column_stack([one.values[:, 0], one.visit + 1000 * number])
        for number, one in enumerate((before, now))
    ]
    found = attribute(
        replace(now, values=kernels[1]), replace(before, values=kernels[0]), ("version", "kernel"), seed=0
    )
    assert found.cause is not None
    assert (found.cause.dimension, found.cause.value) == ("version", 1)
