"""GIVEN programs with targets WHEN they are placed THEN targets hold where a search of everything finds that they can."""

from itertools import combinations

import numpy as np
import pytest

from analysis.errors import InsufficientData, NotANumber, Unreachable
from analysis.interference.advisor import Tenant, place
from tests.unit.analysis.interference.made_mixes import chip
from tests.unit.analysis.interference.test_target import trained


@pytest.fixture(scope="module")
def tenants() -> list[Tenant]:
    rng = np.random.default_rng(0)
    base = chip(rng)
    found = []
    for number in range(8):
        made = chip(rng, target=number)
        made = type(made)(base.programs, number, made.cache_cost, made.bandwidth_cost)
        found.append(Tenant(trained(rng, made), np.inf))
    return found


def total(tenants: list[Tenant], members: tuple[int, ...]) -> float:
    owns = [tenants[member].target.typical for member in members]
    cache, bandwidth = sum(own.cache[0] for own in owns), sum(own.bandwidth[0] for own in owns)
    try:
        return sum(max(0.0, tenants[member].target.value(cache, bandwidth)) for member in members)
    except InsufficientData:
        return np.inf


def test_it_finds_what_a_search_of_everything_finds(tenants: list[Tenant]) -> None:
    everyone = set(range(8))
    best = min(
        total(tenants, half) + total(tenants, tuple(sorted(everyone - set(half))))
        for half in combinations(range(8), 4)
        if 0 in half
    )
    found = place(tenants, 2, 4)
    assert sum(found.degradation) == pytest.approx(best)
    assert found.unmet == ()
    assert sorted(member for members in found.machines for member in members) == sorted(everyone)


def test_targets_come_before_the_sum(tenants: list[Tenant]) -> None:
    free = place(tenants, 2, 4)
    sorest = int(np.argmax(free.degradation))
    wanted = [
        Tenant(tenant.target, free.degradation[sorest] * 0.8 if number == sorest else np.inf)
        for number, tenant in enumerate(tenants)
    ]
    found = place(wanted, 3, 4)
    assert found.unmet == ()
    assert found.degradation[sorest] <= wanted[sorest].most


def test_a_target_that_nothing_keeps_is_told(tenants: list[Tenant]) -> None:
    found = place([Tenant(tenant.target, 0.0) for tenant in tenants], 2, 4)
    assert found.unmet


def test_alone_nothing_degrades(tenants: list[Tenant]) -> None:
    found = place([Tenant(tenant.target, 0.0) for tenant in tenants], 8, 4)
    assert found.degradation == (0.0,) * 8
    assert found.unmet == ()


def test_caution_counts_the_interval(tenants: list[Tenant]) -> None:
    assert sum(place(tenants, 2, 4, cautious=True).degradation) > sum(place(tenants, 2, 4).degradation)


def test_the_same_seed_places_the_same(tenants: list[Tenant]) -> None:
    assert place(tenants, 3, 4, seed=5) == place(tenants, 3, 4, seed=5)


@pytest.mark.slow
def test_many_programs_are_placed_within_a_limit(tenants: list[Tenant]) -> None:
    """Counts mixes looked at and not seconds: without a limit the work grew with more than the square of the machines."""
    many = [Tenant(tenants[number % 8].target, 0.3) for number in range(240)]
    dealt, found = place(many, 80, 4, looks=0), place(many, 80, 4, looks=4_000)
    assert not dealt.ended
    assert not found.ended
    assert sum(found.degradation) < 0.9 * sum(dealt.degradation)
    assert sorted(member for members in found.machines for member in members) == list(range(240))
    assert max(map(len, found.machines)) <= 4
    assert found == place(many, 80, 4, looks=4_000)


def test_a_search_that_ended_says_so(tenants: list[Tenant]) -> None:
    assert place(tenants, 2, 4).ended


def test_what_cannot_be_placed(tenants: list[Tenant]) -> None:
    with pytest.raises(Unreachable):
        place(tenants, 1, 4)
    with pytest.raises(InsufficientData):
        place([], 1, 4)
    with pytest.raises(NotANumber):
        place([Tenant(tenants[0].target, -0.1)], 1, 4)
