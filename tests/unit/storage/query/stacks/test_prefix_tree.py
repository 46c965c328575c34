"""The tree against the plainest possible counting over Python tuples."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.stacks import prefix_tree, stack_tree
from storage.query.stacks.stack_tree import Stacks, StackTree, built

a_stack = st.lists(st.integers(1, 5), max_size=7).map(tuple)
some_stacks = st.lists(a_stack, min_size=1, max_size=25, unique=True)


def columns(stacks: dict[int, tuple[int, ...]]) -> Stacks:
    return Stacks(
        np.array(list(stacks), np.int64),
        np.array([f for s in stacks.values() for f in s], np.int32),
        np.array([len(s) for s in stacks.values()], np.int64),
    )


def paths_of(shape: stack_tree.Shape) -> list[tuple[int, ...]]:
    paths: list[tuple[int, ...]] = []
    for parent, function in zip(shape.parent.tolist(), shape.function.tolist(), strict=True):
        paths.append(() if parent < 0 else (*paths[parent], function))
    return paths


def check_against_counting(shape: stack_tree.Shape, asked: list[tuple[int, ...]], values: list[int]) -> None:
    own = shape.self_at(np.array(values, np.int64))
    totals = shape.totals(own)
    paths = paths_of(shape)
    expected_total: Counter[tuple[int, ...]] = Counter()
    expected_self: Counter[tuple[int, ...]] = Counter()
    for stack, value in zip(asked, values, strict=True):
        expected_self[stack] += value
        for length in range(len(stack) + 1):
            expected_total[stack[:length]] += value
    assert len(set(paths)) == len(paths)
    assert paths == sorted(paths), "preorder with children by function is the order of the paths"
    found = dict(zip(paths, totals.tolist(), strict=True))
    assert {path: total for path, total in found.items() if path in expected_total} == expected_total
    assert not any(total for path, total in found.items() if path not in expected_total), (
        "others have nothing"
    )
    assert {p: s for p, s in zip(paths, own.tolist(), strict=True) if s} == expected_self
    assert [len(p) for p in paths] == shape.depth.tolist()
    assert [p != () and p[-1] not in p[:-1] for p in paths] == shape.outermost.tolist()
    ends = [
        next((j for j in range(i + 1, len(paths)) if paths[j][: len(p)] != p), len(paths))
        for i, p in enumerate(paths)
    ]
    assert ends == shape.end.tolist()


@pytest.mark.slow
@given(some_stacks, st.data())
def test_shapes_count_what_a_dictionary_counts(stacks, data):
    ids = data.draw(st.permutations(range(1, len(stacks) + 1)))
    table = dict(zip(ids, stacks, strict=True))
    in_base = data.draw(st.sets(st.sampled_from(ids)))
    tree = StackTree(built(columns({i: table[i] for i in in_base})))
    for _ in range(2):  # the overlay is extended in two steps
        asked = data.draw(st.lists(st.sampled_from(ids), min_size=1))
        values = data.draw(st.lists(st.integers(1, 2**40), min_size=len(asked), max_size=len(asked)))
        wanted = np.array(asked, np.int64)
        state = tree.covering(wanted, lambda missing: columns({i: table[i] for i in missing.tolist()}))
        check_against_counting(state.shape(wanted), [table[i] for i in asked], values)


@given(some_stacks, st.integers(1, 5), st.integers(1, 5), st.data())
def test_a_function_that_was_named_takes_the_place_of_its_alias(stacks, alias, named, data):
    before = dict(enumerate(stacks, start=1))
    after = {i: tuple(named if f == alias else f for f in stack) for i, stack in before.items()}
    in_base = data.draw(st.sets(st.sampled_from(list(before))))
    tree = StackTree(built(columns({i: before[i] for i in in_base})))
    wanted = np.array(list(before), np.int64)
    tree.covering(wanted, lambda missing: columns({i: before[i] for i in missing.tolist()}))
    tree.forget_functions([np.array([alias], np.int64)])
    state = tree.covering(wanted, lambda missing: columns({i: after[i] for i in missing.tolist()}))
    check_against_counting(state.shape(wanted), list(after.values()), [i * 3 for i in before])


@given(some_stacks)
def test_outermost_by_any_key(stacks):
    tree, _ = prefix_tree.build(columns(dict(enumerate(stacks))).frames, np.array([len(s) for s in stacks]))
    key = tree.function % 2  # two "files"
    found = prefix_tree.outermost(key, tree.end)
    for node in range(len(tree)):
        ancestors = []
        above = tree.parent[node]
        while above > 0:
            ancestors.append(key[above])
            above = tree.parent[above]
        assert found[node] == (node != 0 and key[node] not in ancestors)


@given(some_stacks, st.data())
def test_siblings_in_another_order_move_their_subtrees(stacks, data):
    """The short way against the one that goes level by level."""
    frames = columns(dict(enumerate(stacks)))
    tree, _ = prefix_tree.build(frames.frames, frames.lengths)
    rank = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(tree), max_size=len(tree))), np.float64
    )
    parent = tree.parent.astype(np.int64)
    assert prefix_tree.ends(parent).tolist() == tree.end.tolist()
    position, _ = prefix_tree.preorder(parent, tree.depth.astype(np.int64), rank)
    assert prefix_tree.resorted(parent, tree.end, rank).tolist() == position.tolist()


def test_sums_stay_exact_beyond_the_integers_a_float_can_hold():
    tree = StackTree()
    table = {1: (1, 2), 2: (1, 3)}
    ids = np.array([1, 2, 1], np.int64)
    shape = tree.covering(ids, lambda missing: columns(table)).shape(ids)
    own = shape.self_at(np.array([2**60 + 1, 3, 2], np.int64))
    assert shape.totals(own).tolist() == [2**60 + 6, 2**60 + 6, 2**60 + 3, 3]


@given(some_stacks, st.data())
def test_leaves_side_by_side_have_the_paths_of_leaves_anywhere(stacks, data):
    """The nodes between the leaves looked at one by one, against climbing from leaf to leaf."""
    frames = columns(dict(enumerate(stacks)))
    tree, leaves = prefix_tree.build(frames.frames, frames.lengths)
    asked = np.array(data.draw(st.lists(st.sampled_from(leaves.tolist()), min_size=1)), np.int64)
    low, high = int(asked.min()), int(asked.max()) + 1
    within = prefix_tree._paths_within(asked, tree.parent, tree.end, low, high)
    climbed = prefix_tree._paths_climbed(asked, tree.parent, tree.depth)
    for name in ("nodes", "parent", "end", "leaf"):
        assert getattr(within, name).tolist() == getattr(climbed, name).tolist()
