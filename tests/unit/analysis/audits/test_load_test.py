"""GIVEN a load test and production WHEN they are compared THEN a part of production passes, and another program does not."""

import numpy as np
import pytest

from analysis.audits.load_test import against_production
from analysis.diff import compare
from analysis.errors import BadShape, Contradictory, InsufficientData
from analysis.reliability import manhattan
from tests.unit.analysis.frames import table

ROWS = 40


def visits(
    rng: np.random.Generator, count: int, change: np.ndarray | None = None, samples: int = 800
) -> np.ndarray:
    mean = np.random.default_rng(99).dirichlet(np.full(ROWS, 0.5))
    mean = mean * (1 if change is None else change)
    shares = rng.dirichlet(100 * mean / mean.sum() + 1e-3, count)
    return np.array([rng.multinomial(samples, row) for row in shares])


@pytest.mark.slow
def test_a_part_of_production_is_representative() -> None:
    rng = np.random.default_rng(0)
    refused = 0
    for trial in range(8):
        production = table(visits(rng, 100), key=np.arange(1000, 1100))
        found = against_production(table(visits(rng, 6)), production, seed=trial)
        refused += not found.representative
    assert refused <= 2
    assert found.covered > 0.9
    assert found.compared_visits == 6


def test_a_test_of_something_else_is_not() -> None:
    rng = np.random.default_rng(1)
    change = np.ones(ROWS)
    hot = int(np.argmax(visits(rng, 50).sum(axis=0)))
    change[hot] = 0.0
    production = table(visits(rng, 100), key=np.arange(1000, 1100))
    test = table(visits(rng, 20, change))
    found = against_production(test, production, seed=0)
    assert not found.representative
    assert found.differing[0] == hot
    assert found.distance > found.floor.hi > found.floor.value
    assert found.distance == pytest.approx(manhattan(production.shares, test.shares))
    assert found.covered < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("samples", [40, 8_000])
def test_a_test_of_more_or_fewer_samples_a_visit_is_judged_alike(samples: int) -> None:
    """Of the same law: with 40 samples a visit beside 800 every test failed, as few samples are far from anything."""
    rng = np.random.default_rng(4)
    found = [
        against_production(
            table(visits(rng, 6, samples=samples)),
            table(visits(rng, 60), key=np.arange(1000, 1060)),
            seed=trial,
        )
        for trial in range(8)
    ]
    assert sum(one.representative for one in found) >= 7
    assert found[0].compared_samples == 6 * min(samples, 800)


def test_a_long_test_of_something_else_does_not_pass_by_its_length() -> None:
    """Its many samples bring it nearer to production than parts of few samples come."""
    rng = np.random.default_rng(5)
    change = rng.lognormal(0, 0.6, ROWS)
    production = table(visits(rng, 100, samples=100), key=np.arange(1000, 1100))
    found = against_production(table(visits(rng, 20, change, 20_000)), production, seed=0)
    assert not found.representative
    assert found.matched.value > found.floor.value


def test_units_of_a_sample_may_be_given() -> None:
    rng = np.random.default_rng(6)
    test, production = visits(rng, 6), visits(rng, 60)
    plain = against_production(table(test), table(production, key=np.arange(1000, 1060)), seed=0)
    scaled = against_production(
        table(test * 1e6), table(production * 1e6, key=np.arange(1000, 1060)), seed=0, sample=1e6
    )
    assert scaled.p == plain.p
    with pytest.raises(Contradictory):
        against_production(table(test * 0.5), table(production, key=np.arange(1000, 1060)), seed=0)


def test_a_known_comparison_of_the_tables_is_used() -> None:
    rng = np.random.default_rng(5)
    test, production = table(visits(rng, 20)), table(visits(rng, 60), key=np.arange(1000, 1060))
    plain = against_production(test, production, seed=3)
    given = against_production(test, production, seed=3, diff=compare(test, production, seed=3))
    assert (given.distance, given.p, given.differing.tolist()) == (
        plain.distance,
        plain.p,
        plain.differing.tolist(),
    )
    assert given.diff.p.tolist() == plain.diff.p.tolist()


def test_a_test_larger_than_production_is_held_against_halves() -> None:
    rng = np.random.default_rng(2)
    production = table(visits(rng, 20), key=np.arange(1000, 1020))
    assert against_production(table(visits(rng, 50)), production, seed=0).compared_visits == 10


def test_what_cannot_be_said() -> None:
    rng = np.random.default_rng(3)
    production = table(visits(rng, 20), key=np.arange(1000, 1020))
    with pytest.raises(InsufficientData):
        against_production(table(np.zeros((0, ROWS))), production, seed=0)
    with pytest.raises(InsufficientData):
        against_production(table(visits(rng, 5)), production.of(np.arange(7)), seed=0)
    with pytest.raises(BadShape):
        against_production(table(np.ones((5, 3))), production, seed=0)
