"""Trees from callers, from callees and below labels against counting stack by stack."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.shapes.frame_tree import (
    Borne,
    FrameTree,
    below_labels,
    from_callees,
    from_callers,
    from_root,
)
from tests.random_stacks import Stack, planted, stacks

Facts = list[tuple[Stack, int, float]]
Nodes = dict[Stack, tuple[float, float, float, float]]
"""Total and self observed, and of the fleet, by path."""


def borne(facts: Facts) -> Borne:
    found = planted(facts)
    return Borne.of(found.shape, found.units, found.weighted)


def nodes(tree: FrameTree, above: Stack = ()) -> Nodes:
    paths: list[Stack] = []
    for node, parent in enumerate(tree.parent.tolist()):
        assert parent < node
        paths.append(above if parent < 0 else (*paths[parent], int(tree.function[node])))
        assert tree.depth[node] == len(paths[node]) - len(above)
    assert len(set(paths)) == len(paths)
    columns = (tree.total, tree.own, tree.total_weight, tree.own_weight)
    return dict(zip(paths, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def counted(facts: Iterable[tuple[Stack, int, float]], below: Stack = ()) -> Nodes:
    columns: tuple[Counter[Stack], ...] = (Counter(), Counter(), Counter(), Counter())
    for stack, units, weight in facts:
        if not units or stack[: len(below)] != below:
            continue
        for depth in range(len(below), len(stack) + 1):
            columns[0][stack[:depth]] += units
            columns[2][stack[:depth]] += units * weight
        columns[1][stack] += units
        columns[3][stack] += units * weight
    return {path: tuple(column[path] for column in columns) for path in columns[0]}


def turned(facts: Facts) -> Facts:
    return [(stack[::-1], units, weight) for stack, units, weight in facts]


@given(stacks)
def test_the_tree_of_calls_is_that_of_the_stacks(facts: Facts):
    assert nodes(from_root(borne(facts))) == (counted(facts) or {(): (0, 0, 0, 0)})


@given(stacks)
def test_the_tree_of_callers_is_that_of_the_stacks_turned_round(facts: Facts):
    assert nodes(from_callees(borne(facts), 1000)) == (counted(turned(facts)) or {(): (0, 0, 0, 0)})


@given(stacks, st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
def test_below_a_path_stands_what_stands_there_in_the_whole(facts: Facts, path: Stack):
    for tree, expected in (
        (from_callers(borne(facts), path), counted(facts, path)),
        (from_callees(borne(facts), 1000, path), counted(turned(facts), path)),
    ):
        assert (tree is None) == (not expected)
        if tree is not None:
            assert tree.function[0] == path[-1]
            assert nodes(tree, path) == expected


@given(stacks, st.integers(1, 12))
def test_a_tree_of_callers_that_is_not_grown_whole_has_its_heaviest_nodes(facts: Facts, most: int):
    whole, part = (nodes(from_callees(borne(facts), size)) for size in (1000, most))
    assert part.items() <= whole.items()
    heaviest = sorted((total for _, _, total, _ in whole.values()), reverse=True)[:most]
    assert sorted((total for _, _, total, _ in part.values()), reverse=True)[:most] == heaviest


@given(stacks, st.integers(1, 12), st.sampled_from([0.0, 0.2, 1.0]))
def test_the_heaviest_nodes_are_those_that_sorting_finds_first(facts: Facts, most: int, least: float):
    tree = from_root(borne(facts))
    sorted_ = np.argsort(-tree.total_weight, kind="stable")[:most]
    enough = tree.total_weight[sorted_] >= least * tree.total_weight[0]
    expected = sorted(sorted_[enough | (sorted_ == 0)].tolist())
    chosen = tree.heaviest(most, least)
    assert chosen.tolist() == expected
    part = tree.of(chosen)
    assert part.in_preorder
    assert part.by_weight().tolist() == replace(part, in_preorder=False).by_weight().tolist()


@given(
    st.lists(
        st.tuples(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), stacks), min_size=1, max_size=4
    )
)
def test_labels_are_the_first_levels(groups: list[tuple[tuple[str, str], Facts]]):
    groups = list({values: (values, facts) for values, facts in groups}.values())
    tree, frames = below_labels([(values, from_root(borne(facts))) for values, facts in groups])
    number = {frame: -1 - place for place, frame in enumerate(frames)}
    expected = counted(
        ((number[0, values[0]], number[1, values[1]], *stack), units, weight)
        for values, facts in groups
        for stack, units, weight in facts
    )
    found = nodes(tree)
    assert {path: node for path, node in found.items() if any(node)} == expected


def test_a_chain_deeper_than_any_level_stays_exact():
    facts = [(tuple(range(1, 129)), 1, 1.0), (tuple(range(2, 129)), 2, 1.0)]
    assert nodes(from_callees(borne(facts), 100_000)) == counted(turned(facts))
    assert from_root(borne(facts)).total.max() == 3


@pytest.mark.parametrize("path", [(7,), (1, 2, 3), (4, 1)])
def test_a_path_nobody_went_is_no_tree(path: Stack):
    found = borne([((1, 2), 5, 1.0), ((1, 2, 3), 0, 1.0)])
    assert from_callers(found, path) is None
    assert from_callees(found, 10, path) is None


def test_sums_past_what_a_double_holds_are_exact():
    found = borne([((1, 2), 2**61 + 1, 1.0), ((3, 2), 2**61 + 1, 1.0)])
    tree = from_callees(found, 10)
    assert tree.total.tolist()[:2] == [2**62 + 2] * 2
    assert int(tree.own.sum()) == 2**62 + 2
    assert np.isfinite(tree.total_weight).all()
