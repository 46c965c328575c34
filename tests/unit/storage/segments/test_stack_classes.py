"""GIVEN facts of random stacks WHEN they are summed by class and visit THEN rows have what they have fact by fact."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.estimation.visit_evidence import Seen
from storage.query.estimation.visit_totals import PerVisit
from storage.query.stacks.stack_tree import Shape, Stacks, built
from storage.segments.stack_classes import StackClasses
from storage.snapshots.copy_binary import Rows

VISITS = 3
some_stacks = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=7), min_size=1, max_size=12)
a_fact = st.tuples(st.integers(0, 11), st.integers(0, VISITS - 1), st.integers(1, 9), st.integers(1, 99))


def shape_of(calls: list[list[int]]) -> Shape:
    """The tree of stacks 1, 2, …"""
    frames = np.array([function for stack in calls for function in stack], np.int32)
    stacks = Stacks(np.arange(1, len(calls) + 1), frames, np.array([len(stack) for stack in calls], np.int64))
    return built(stacks).shape(stacks.ids)


def pairs(found: PerVisit) -> dict[tuple[int, int], int]:
    return dict(
        zip(zip(found.row.tolist(), found.visit.tolist(), strict=True), found.units.tolist(), strict=True)
    )


@given(
    calls=some_stacks,
    facts=st.lists(a_fact, max_size=30),
    shown=st.permutations(range(1, 7)).flatmap(lambda order: st.integers(0, 6).map(lambda n: order[:n])),
    totals=st.booleans(),
)
def test_rows_have_what_they_have_fact_by_fact(
    calls: list[list[int]], facts: list[tuple[int, int, int, int]], shown: list[int], *, totals: bool
) -> None:
    shape, rows = shape_of(calls), len(shown)
    row_of = np.full(7, -1, np.int64)
    row_of[shown] = np.arange(rows)
    own_row = row_of[shape.function]
    total_row = np.where(shape.outermost & totals, own_row, -1)
    stack, visit, samples, units = (
        np.array([(place % len(calls), *rest) for place, *rest in facts], np.int64).reshape(-1, 4).T
    )
    seen = Seen(visit, shape.leaf[stack], samples, units, np.zeros(0, np.int64))
    wanted = seen.contributions(shape, own_row, total_row, rows=rows, visits=VISITS)

    classes = StackClasses.of(shape, own_row, total_row)
    sums: Counter[tuple[int, int, str]] = Counter()
    for class_, at, taken, observed in zip(
        classes.of_stack[stack].tolist(), visit.tolist(), samples.tolist(), units.tolist(), strict=True
    ):
        if class_ >= 0:
            sums[class_, at, "samples"] += taken
            sums[class_, at, "units"] += observed
    keys = sorted({(class_, at) for class_, at, _ in sums})
    columns = {
        "class": [class_ for class_, _ in keys],
        "visit": [at for _, at in keys],
        **{name: [sums[class_, at, name] for class_, at in keys] for name in ("samples", "units")},
    }
    found = classes.contributions(Rows(len(keys), columns), rows=rows, visits=VISITS)
    assert found.self_samples.tolist() == wanted.self_samples.tolist()
    assert found.total_samples.tolist() == wanted.total_samples.tolist()
    assert pairs(found.own) == pairs(wanted.own)
    assert pairs(found.total) == pairs(wanted.total)


def test_stacks_that_count_for_the_same_rows_are_one_class() -> None:
    main, work, left, right = 1, 2, 3, 4
    shape = shape_of([[main, left, work], [main, right, work], [main, left]])
    row_of = np.array([-1, 0, 1, -1, -1])
    of_node = row_of[shape.function]
    classes = StackClasses.of(shape, of_node, np.where(shape.outermost, of_node, -1))
    first, second, third = classes.of_stack.tolist()
    assert first == second != third
    assert classes.own[[first, third]].tolist() == [1, -1]


@pytest.mark.parametrize("rows", [0, 2])
def test_no_stack_counts_for_rows_that_no_node_has(rows: int) -> None:
    shape = shape_of([[1, 2], [3]])
    none = np.full(len(shape), -1, np.int64)
    classes = StackClasses.of(shape, none, none)
    assert classes.of_stack.tolist() == [-1, -1]
    empty: dict[str, list[int]] = {name: [] for name in ("class", "visit", "samples", "units")}
    assert classes.contributions(Rows(0, empty), rows=rows, visits=VISITS).total.rows == rows
