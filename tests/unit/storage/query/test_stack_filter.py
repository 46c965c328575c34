"""Filters on frames against doing the same to lists of frames."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.stack_filter import contract, filter_stacks
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.stacks.stack_tree import Shape, Stacks, built
from tests.stack_filter_oracle import Frame, left_of

FRAMES = (
    Frame("main", "main.c", "prog"),
    Frame("parse", "parse.c", "prog"),
    Frame("malloc", "malloc.c", "libc.so.6"),
    Frame("memcpy", "", "libc.so.6"),
    Frame("parse", "json.c", "libjson.so"),
    Frame("[unknown]"),
)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EVERYTHING = Selection(NOON.replace(hour=11), NOON)

stacks = st.lists(st.lists(st.integers(1, len(FRAMES)), max_size=6), min_size=1, max_size=12)
patterns = st.sampled_from(
    ["", "", "parse", "^m", r"libc\.so", "json", "^$", r"\.c$", "nowhere", ".", "mal|unk"]
)
names = st.sampled_from(["function", "file", "binary", "self.function", "self.file", "self.binary"])
tests = st.sampled_from(
    ['="parse"', '!="malloc"', '=""', '!=""', '=~"libc.*"', '!~"m.*c?"', '=~".+"', '!~"prog|"']
)
selections = st.builds(
    lambda matchers, focus, ignore, hide, show, show_from: replace(
        EVERYTHING,
        frames=parse_matchers(",".join(matchers)),
        focus=focus,
        ignore=ignore,
        hide=hide,
        show=show,
        show_from=show_from,
    ),
    st.lists(st.builds(lambda name, test: name + test, names, tests), max_size=2),
    patterns, patterns, patterns, patterns, patterns,
)  # fmt: skip


def functions() -> Functions:
    known = Functions()
    known._grow(len(FRAMES) + 1)
    for number, frame in enumerate(FRAMES, 1):
        row = FunctionRow(number, frame.function, frame.file, frame.binary, Status.FULL, Kind.USER)
        known._put(row, number, keyed=False)
    return known


def shape_of(given_stacks: list[list[int]]) -> Shape:
    ids = np.arange(len(given_stacks))
    frames = np.array([function for stack in given_stacks for function in stack], np.int32)
    lengths = np.array([len(stack) for stack in given_stacks])
    return built(Stacks(ids, frames, lengths)).shape(ids)


def path(shape: Shape, node: int) -> tuple[int, ...]:
    """Functions from the root to a node."""
    found: list[int] = []
    while node:
        found.append(int(shape.function[node]))
        node = int(shape.parent[node])
    return tuple(reversed(found))


def check(shape: Shape) -> None:
    """It is a tree in preorder whose siblings are different, and knows itself."""
    paths = [path(shape, node) for node in range(len(shape))]
    assert len(set(paths)) == len(paths)
    assert paths == sorted(paths)
    assert shape.depth.tolist() == [len(one) for one in paths]
    below = [sum(other[: len(one)] == one for other in paths) for one in paths]
    assert (shape.end - np.arange(len(shape))).tolist() == below
    assert shape.outermost.tolist() == [bool(one) and one[-1] not in one[:-1] for one in paths]


@given(stacks, selections)
@example([[1, 2, 1], [2]], replace(EVERYTHING, hide="main"))
@example([[1, 3, 2], [1, 2, 2]], replace(EVERYTHING, show_from="parse"))
@example([[]], replace(EVERYTHING, frames=parse_matchers('self.function!="x"')))
def test_the_tree_is_filtered_as_stacks_one_by_one(given_stacks: list[list[int]], selection: Selection):
    left = filter_stacks(functions(), shape_of(given_stacks), selection)
    check(left.shape)
    found = [
        tuple(FRAMES[f - 1] for f in path(left.shape, leaf)) if keep else None
        for keep, leaf in zip(left.keep.tolist(), left.shape.leaf.tolist(), strict=True)
    ]
    expected = [left_of([FRAMES[f - 1] for f in stack], selection) for stack in given_stacks]
    assert found == [None if stack is None else tuple(stack) for stack in expected]


@given(stacks, st.lists(st.booleans(), min_size=80, max_size=80))
def test_any_nodes_can_be_taken_out(given_stacks: list[list[int]], flags: list[bool]):
    shape = shape_of(given_stacks)
    shown = np.array(flags[: len(shape)])
    contracted = contract(shape, shown)
    check(contracted)
    for old, new in zip(shape.leaf.tolist(), contracted.leaf.tolist(), strict=True):
        kept, node = [], old
        while node:
            kept += [int(shape.function[node])] if shown[node] else []
            node = int(shape.parent[node])
        assert path(contracted, new) == tuple(reversed(kept))


@given(stacks, patterns, patterns)
def test_hiding_twice_is_hiding_either(given_stacks: list[list[int]], one: str, two: str):
    shape = shape_of(given_stacks)
    once = filter_stacks(functions(), shape, replace(EVERYTHING, hide=one))
    both = filter_stacks(functions(), once.shape, replace(EVERYTHING, hide=two))
    either = filter_stacks(
        functions(), shape, replace(EVERYTHING, hide=f"{one}|{two}" if one and two else one or two)
    )
    assert (once.keep & both.keep).tolist() == either.keep.tolist()
    ends = [path(both.shape, leaf) for leaf in both.shape.leaf.tolist()]
    assert ends == [path(either.shape, leaf) for leaf in either.shape.leaf.tolist()]


def test_a_deep_stack_takes_no_recursion():
    deep = shape_of([[1, 2] * 2000])
    left = filter_stacks(functions(), deep, replace(EVERYTHING, hide="main"))
    assert left.shape.depth[left.shape.leaf].tolist() == [2000]


@pytest.mark.parametrize(
    "selection", [EVERYTHING, replace(EVERYTHING, focus="m"), replace(EVERYTHING, hide="xyz")]
)
def test_a_tree_that_stays_as_it_is_is_the_same_object(selection: Selection):
    shape = shape_of([[1, 2], [1, 3]])
    assert filter_stacks(functions(), shape, selection).shape is shape
