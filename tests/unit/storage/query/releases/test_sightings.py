"""GIVEN values seen by visits THEN only those that chance does not explain are new."""

from math import comb

import numpy as np
import pytest

from storage.query.releases.sightings import NEW, Sight, sights
from storage.query.releases.versions import Version, newest_first


def _seen(values: list[list[int]], scope: int = 1) -> list[Sight]:
    """One visit per list, a second apart, with a profile for each value."""
    pairs = [(visit, value) for visit, of in enumerate(values) for value in of]
    visit, value = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    return sights(np.full(len(visit), scope), value, visit, np.arange(len(values), dtype=np.float64))


def test_a_value_is_seen_between_two_visits():
    (old, new) = _seen([[7]] * 200 + [[7, 8], [7], [8], [8]])
    assert (old.value, old.first, old.before, old.visits) == (7, 0.0, 0, 202)
    assert np.isnan(old.without)
    assert not old.is_new, "nothing was drawn before it"
    assert (new.value, new.first, new.without, new.before, new.visits, new.last) == (
        8,
        200.0,
        199.0,
        200,
        3,
        203.0,
    )
    assert new.is_new
    assert new.chance == pytest.approx(comb(4, 3) / comb(204, 3))


def test_a_rare_value_is_not_new():
    (_, rare) = _seen([[7]] * 60 + [[7, 8]] + [[7]] * 39)
    assert rare.chance == pytest.approx(40 / 100)
    assert not rare.is_new


def test_chance_calls_few_old_values_new():
    random = np.random.default_rng(3)
    called = 0
    for _ in range(400):
        of = [[7, 8] if random.random() < 0.05 else [7] for _ in range(150)]
        called += sum(one.is_new for one in _seen(of))
    assert called / 400 <= 3 * NEW


def test_values_are_seen_within_their_scope():
    scope, value = np.array([1, 2, 1, 2]), np.array([5, 5, 6, 5])
    found = sights(scope, value, np.arange(4), np.array([0.0, 10.0, 20.0, 30.0]))
    assert [(one.scope, one.value, one.before, one.visits) for one in found] == [
        (1, 5, 0, 1),
        (1, 6, 1, 1),
        (2, 5, 0, 2),
    ]
    assert found[1].without == 0.0
    assert sights(*(np.zeros(0, np.int64) for _ in range(3)), np.zeros(0)) == []


def _version(name: str, *, middle: float, first: float = 0.0, chance: float = 1.0) -> Version:
    return Version(name, Sight(1, 1, 9, first, 99.0, -1.0, 3, middle, chance), 1.0)


def test_known_beginnings_are_newer_than_unknown_ones():
    old, new, newer = (
        _version("z", middle=90.0),
        _version("b", middle=5.0, first=50.0, chance=0.001),
        _version("a", middle=4.0, first=60.0, chance=0.001),
    )
    assert [one.name for one in newest_first([old, newer, new])] == ["a", "b", "z"]


def test_without_known_beginnings_numbers_or_times_decide():
    found = [_version("r9", middle=50.0), _version("r10", middle=20.0)]
    assert [one.name for one in newest_first(found)] == ["r10", "r9"]
    found = [_version("6f2e", middle=50.0), _version("beef", middle=20.0)]
    assert [one.name for one in newest_first(found)] == ["6f2e", "beef"]
