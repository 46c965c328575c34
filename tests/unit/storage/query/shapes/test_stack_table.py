"""Stacks as columns, against counting by hand."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.shapes import stack_table
from storage.query.shapes.stack_table import Grouping, StackRows, StackTable, tabulated
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import FunctionRow
from storage.query.stacks.stack_tree import Stacks, built

NAMES = ["", "zeta", "alpha", "mid", "alpha", "größer"]
"""By id; the two of one name are in different binaries."""
GROUPS = (("a", "1"), ("a", "2"), ("b", "1"))

FACTS = st.lists(
    st.tuples(
        st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple),
        st.integers(0, 2),
        st.integers(1, 9),
        st.floats(1, 3),
    ),
    max_size=12,
)


def functions(ids: np.ndarray) -> list[tuple[FunctionRow, Definition]]:
    return [
        (
            FunctionRow(id_, NAMES[id_], "", f"bin{id_}" if id_ else "", Status.FULL, Kind.USER),
            Definition(f"_{id_}", id_),
        )
        for id_ in ids.tolist()
    ]


def table_of(facts: list, most: int, *, grouped: bool) -> tuple[StackTable, StackRows, np.ndarray]:
    stacks = sorted({stack for stack, *_ in facts})
    shape_of = built(
        Stacks(
            np.arange(len(stacks)),
            np.array([frame for stack in stacks for frame in stack], np.int32),
            np.array([len(stack) for stack in stacks], np.int64),
        )
    )
    shape = shape_of.shape(np.array([stacks.index(stack) for stack, *_ in facts], np.int64))
    grouping = (
        Grouping(("x", "y"), GROUPS, np.array([group for _, group, *_ in facts], np.int64))
        if grouped
        else Grouping((), ((),), np.zeros(0, np.int64))
    )
    samples = np.array([count for *_, count, _ in facts], np.int64)
    weight = samples * 10 * np.array([factor for *_, factor in facts], np.float64)
    rows = StackRows.of(shape, grouping, samples, samples * 10, weight)
    kept = rows.heaviest(most)
    table, order = tabulated(shape, rows, kept, grouping, functions)
    return table, rows, kept[order]


@settings(deadline=None, max_examples=40)
@given(FACTS, st.booleans(), st.sampled_from([0, 1 << 24]))
def test_every_stack_is_there_once_with_its_sums(facts: list, grouped: bool, dense: int) -> None:
    before, stack_table._DENSE = stack_table._DENSE, dense
    try:
        table, rows, places = table_of(facts, 100, grouped=grouped)
    finally:
        stack_table._DENSE = before
    samples: Counter = Counter()
    weights: Counter = Counter()
    for stack, group, count, factor in facts:
        key = stack, GROUPS[group] if grouped else ()
        samples[key] += count
        weights[key] += count * 10 * factor
    ids = [row.id for row in table.functions]
    found = [
        (tuple(ids[number] for number in table.frames(place)), table.groups[int(table.group[place])])
        for place in range(len(table))
    ]
    assert dict(zip(found, table.samples.tolist(), strict=True)) == samples
    assert (table.units == table.samples * 10).all()
    assert np.allclose(table.weight, [weights[key] for key in found])
    assert (rows.weight[places] == table.weight).all()
    by_name = [([(NAMES[id_], f"bin{id_}") for id_ in stack], values) for stack, values in found]
    assert by_name == sorted(by_name)
    assert [definition.line for definition in table.definitions] == ids
    assert table.remainder == stack_table.Counts(0, 0, 0, 0.0)
    assert table.depth[table.leaf].tolist() == [len(stack) for stack, _ in found]


@settings(deadline=None, max_examples=40)
@given(FACTS, st.integers(0, 5))
def test_what_is_shown_and_the_remainder_are_the_whole(facts: list, most: int) -> None:
    table, _, _ = table_of(facts, most, grouped=True)
    whole, _, _ = table_of(facts, 100, grouped=True)
    assert len(table) == min(most, len(whole))
    assert len(table) + table.remainder.stacks == len(whole)
    assert int(table.samples.sum()) + table.remainder.samples == int(whole.samples.sum())
    assert int(table.units.sum()) + table.remainder.units == int(whole.units.sum())
    assert np.isclose(table.weight.sum() + table.remainder.weight, whole.weight.sum())
    if len(table):
        heaviest = whole.weight[whole.heaviest_first[:most]]
        assert sorted(table.weight.tolist(), reverse=True) == heaviest.tolist()
