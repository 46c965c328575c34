"""GIVEN an application WHEN its stacks are made THEN they are walks over its call graph, and shares sum up."""

from itertools import pairwise

import numpy as np
import pytest

from simulation.calls import function_of
from simulation.catalogue import APPLICATIONS, SERVICES, Kind
from simulation.programs import program_of
from simulation.stack_table import FEWER_WALKS, INTRODUCED_SHARE, RARE_SHARE, StackTable, stack_table
from simulation.variants import CONTENTION, Variant, cost, shares

SEED = 7
SAMPLE = [APPLICATIONS[n] for n in (0, 1, 2, 4, 6, 11, 14, 30, 40)]
by_name = pytest.mark.parametrize("application", SAMPLE, ids=lambda application: application.name)


def stack(table: StackTable, number: int) -> list[int]:
    return table.frames[table.starts[number] : table.starts[number + 1]].tolist()


@by_name
def test_every_frame_was_called_by_the_one_outside_it(application):
    program = program_of(application, SEED)
    edges = {
        (function_of(caller), function_of(callee))
        for caller, place in program.graph.places.items()
        for callee in place.callees
    }
    roots = {function_of(root) for root in program.roots}
    table = stack_table(application, SEED)
    for number in range(0, len(table), 7):
        functions = [table.functions[frame] for frame in reversed(stack(table, number))]
        assert functions[0] in roots
        assert set(pairwise(functions)) <= edges


@by_name
def test_stacks_are_distinct_and_their_leaves_first(application):
    table = stack_table(application, SEED)
    stacks = [tuple(stack(table, number)) for number in range(len(table))]
    assert len(set(stacks)) == len(stacks)
    assert table.leaf.tolist() == [frames[0] for frames in stacks]
    assert (table.weight > 0).all()


@pytest.mark.parametrize("application", SERVICES, ids=lambda service: service.name)
def test_services_have_many_deep_stacks(application):
    table = stack_table(application, SEED)
    depth = np.diff(table.starts)
    assert len(table) >= (
        50 if application.program in {"redis-server", "memcached", "nginx", "postgres"} else 1000
    )
    assert np.percentile(depth, 50) >= 10
    assert depth.max() >= 20


def test_daemons_and_threads_have_few():
    assert max(len(stack_table(a, SEED)) for a in APPLICATIONS if a.kind is not Kind.SERVICE) <= FEWER_WALKS


@by_name
@pytest.mark.parametrize("variant", [Variant(), Variant(True, True, 3, 2), Variant(False, True, 1, 1)])
def test_shares_sum_to_one_and_totals_hold_what_is_below_them(application, variant):
    found, table = shares(application, SEED, variant), stack_table(application, SEED)
    assert found.stacks.sum() == pytest.approx(1.0)
    assert found.self.sum() == pytest.approx(1.0)
    assert (found.total >= found.self - 1e-12).all()
    own, total = np.zeros(len(table.functions)), np.zeros(len(table.functions))
    for number, share in enumerate(found.stacks):
        frames = stack(table, number)
        own[frames[0]] += share
        for function in set(frames):
            total[function] += share
    assert found.self == pytest.approx(own)
    assert found.total == pytest.approx(total)


def test_a_regression_costs_what_its_function_takes_more():
    application = next(service for service in SERVICES if service.name == "checkout")
    table = stack_table(application, SEED)
    even, odd = (shares(application, SEED, Variant(odd=odd)) for odd in (False, True))
    slow = table.regressed_function
    before = even.total[slow]
    assert 0.02 < before < 0.08
    ratio = cost(application, SEED, odd=True)
    introduced = odd.stacks[table.introduced].sum() * ratio
    assert odd.total[slow] * ratio == pytest.approx(
        before * application.regression, abs=introduced * application.regression
    )
    assert ratio == pytest.approx(1.0 + before * (application.regression - 1.0) + introduced, rel=0.02)


def test_what_few_machines_and_odd_releases_do_is_nowhere_else():
    application = SERVICES[0]
    table = stack_table(application, SEED)
    usual, rare = shares(application, SEED, Variant()), shares(application, SEED, Variant(rare=True))
    odd = shares(application, SEED, Variant(odd=True))
    assert usual.stacks[table.rare].sum() == usual.stacks[table.introduced].sum() == 0.0
    assert rare.stacks[table.rare].sum() == pytest.approx(RARE_SHARE / (1 + RARE_SHARE), rel=0.1)
    assert odd.stacks[table.introduced].sum() == pytest.approx(INTRODUCED_SHARE, rel=0.2)


def test_contention_grows_with_pressure():
    application = SERVICES[1]
    table = stack_table(application, SEED)
    found = [
        shares(application, SEED, Variant(pressure=p)).stacks[table.contended].sum()
        for p in range(len(CONTENTION))
    ]
    assert found == sorted(found)
    assert found[-1] > 2 * found[0] > 0


def test_the_same_seed_gives_the_same_stacks_and_another_one_others():
    stack_table.cache_clear()
    first = stack_table(SERVICES[1], SEED)
    stack_table.cache_clear()
    again, other = stack_table(SERVICES[1], SEED), stack_table(SERVICES[1], SEED + 1)
    assert (first.frames == again.frames).all()
    assert (first.weight == again.weight).all()
    assert first.functions != other.functions
