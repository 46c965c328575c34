"""GIVEN lines beside stacks WHEN rows are made of them THEN each line is its own function's, or none's."""

from types import SimpleNamespace

import numpy as np
import pytest

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.shapes.table_lines import LineGroup, Lines
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.stacks.stack_tree import Shape

OUTER, LEAF = 5, 9


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize("nowhere", [OUTER - 1, OUTER + 2, LEAF + 300])
def test_lines_of_a_function_that_no_stack_has_are_nobodys(nowhere: int):
    functions = Functions()
    functions._grow(LEAF + 1)
    for id_ in (OUTER, LEAF):
        row = FunctionRow(id_, f"f{id_}", "x.c", "bin", Status.FULL, Kind.USER)
        functions._put(row, id_, keyed=False)
    shape = Shape(
        ints(-1, 0, 1),
        ints(0, OUTER, LEAF),
        ints(3, 3, 3),
        ints(0, 1, 2),
        np.array([False, True, True]),
        ints(2),
    )
    samples = SimpleNamespace(
        shape=shape, facts=SimpleNamespace(units=ints(10), samples=ints(10)), weighted=np.array([10.0])
    )
    ids = np.sort(ints(OUTER, nowhere, LEAF))
    own = np.where(ids == LEAF, 10, 0)
    lines = Lines(ids, ids * 10, ids * 0, own, ids * 0 + 10, own, ids * 0 + 10, np.ones(3))
    group = LineGroup(functions, samples, {}, ("function", "line"), lines)
    rows = {(group.function_id(row), int(group.key(row)["line"])): row for row in range(len(group.keys))}
    assert {key: (int(group.own[row]), int(group.total[row])) for key, row in rows.items()} == {
        (OUTER, 50): (0, 10),
        (LEAF, 90): (10, 10),
    }
