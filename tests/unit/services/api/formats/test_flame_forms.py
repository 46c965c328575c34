"""Flame graphs as columns and as stacks, against the trees they show."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.api.formats.flame_stacks import CUT_OFF, flame_stacks
from services.api.formats.flame_table import flame_table
from services.api.formats.stack_profile import paths
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.facts.visit_scan import SampleType
from storage.query.shapes.flame_nodes import Flame
from storage.query.stacks.function_names import NO_FUNCTION, FunctionRow
from tests.flame_trees import tree_of


def row(id_: int) -> FunctionRow:
    return FunctionRow(id_, f"f{id_}", "", "prog", Status.FULL, Kind.USER)


@st.composite
def flames(draw: st.DrawFn) -> Flame:
    """Trees of up to 8 nodes in preorder; a node's total is its self, its children's and what was cut off."""
    count = draw(st.integers(1, 8))
    parent = [-1]
    for node in range(1, count):
        ways = [node - 1]
        while parent[ways[-1]] >= 0:
            ways.append(parent[ways[-1]])
        parent.append(draw(st.sampled_from(ways)))
    own = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    cut = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    total = [a + b for a, b in zip(own, cut, strict=True)]
    for node in range(count - 1, 0, -1):
        total[parent[node]] += total[node]
    function = [0, *draw(st.lists(st.integers(1, 3), min_size=count - 1, max_size=count - 1))]
    return Flame(
        total=np.array(total),
        self=np.array(own),
        total_weight=np.array(total) * 3.0,
        self_weight=np.array(own) * 3.0,
        parent=np.array(parent, np.int32),
        function=np.array(function, np.int32),
        functions=(NO_FUNCTION, row(1), row(2), row(3)),
        effective=(None, 1.0, None, 3.0),
        pruned_nodes=0,
        pruned_share=0.0,
        labels=draw(st.sampled_from([(), ("", "application", "", "")])),
    )


@settings(deadline=None, max_examples=60)
@given(flames(), st.sampled_from([(), (row(7), row(8))]))
def test_stacks_are_what_the_tree_shows(flame: Flame, path: tuple[FunctionRow, ...]) -> None:
    table = flame_stacks(flame, path)
    names = [of.name for of in table.functions]
    found: Counter = Counter()
    for text, units, weight in zip(
        paths(table, names, ";"), table.units.tolist(), table.weight.tolist(), strict=True
    ):
        found[text] += units
        assert weight == units * 3.0
    expected: Counter = Counter()
    for node, (total, own) in enumerate(zip(flame.total.tolist(), flame.self.tolist(), strict=True)):
        stack, above = [], node
        while above > 0:
            stack.append(flame.functions[flame.function[above]].name)
            above = int(flame.parent[above])
        names = [*(of.name for of in path), *stack[::-1]]
        children = int(flame.total[flame.parent == node].sum())
        if own:
            expected[";".join(names)] += own
        if total - own - children:
            expected[";".join([*names, CUT_OFF.name])] += total - own - children
    assert found == expected
    assert int(table.units.sum()) == flame.total[0]


@settings(deadline=None, max_examples=30)
@given(flames(), st.sampled_from([("count", 1.0), ("nanoseconds", 1e-9)]))
def test_columns_are_the_nodes(flame: Flame, unit: tuple[str, float]) -> None:
    name, factor = unit
    rows = flame_table(tree_of(flame, SampleType("cpu", name, 1))).to_pylist()
    assert [one["parent"] for one in rows] == flame.parent.tolist()
    assert [one["total"] for one in rows] == (flame.total * 3.0 * factor).tolist()
    for one, number in zip(rows, flame.function.tolist(), strict=True):
        of = flame.functions[number]
        assert (one["function"], one["function_id"], one["kind"]) == (of.name, of.id, of.kind.name.lower())
        assert one["label"] == ((flame.labels[number] or None) if flame.labels else None)
        assert one["effective"] == flame.effective[number]
    pruned = sum(one["pruned"] for one in rows)
    own = sum(one["self"] for one in rows)
    assert own + pruned == pytest.approx(rows[0]["total"], rel=1e-12)
