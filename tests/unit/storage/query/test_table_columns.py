"""A table's rows as columns."""

from dataclasses import replace

from storage.query.answers.figures import Interval
from storage.query.answers.table import Remainder, TableAnswer, TableRow
from storage.query.answers.table_columns import TableColumns, table_columns
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from tests.flame_trees import SELECTION, TOTALS

ROW = TableRow(
    key={"function": "memcpy", "file": "", "binary": "libc.so.6"},
    function_id=7,
    self=30,
    total=40,
    self_samples=3,
    total_samples=4,
    self_seconds=3e-8,
    total_seconds=4e-8,
    self_share=1 / 3,
    self_lo=0.3,
    self_hi=0.4,
    total_share=0.5,
    total_lo=0.4,
    total_hi=0.6,
    self_core_seconds=Interval(1e10 / 3, 1.0, 2.0),
    total_core_seconds=Interval(5.0, 4.0, 6.0),
    low_confidence=False,
    visits=2,
    machines=1,
)


def columns(*rows: TableRow) -> TableColumns:
    echo = selection_echo(SELECTION, SampleType("cpu", "nanoseconds", 1))
    answer = TableAnswer(echo, TOTALS, ("function",), rows, 9, Remainder(9 - len(rows), 0, 0.0, 0.0))
    found = table_columns(answer)
    assert (found.selection, found.totals, found.by) == (echo, TOTALS, ("function",))
    assert (found.rows_total, found.remainder) == (9, answer.remainder)
    return found.columns


def test_columns_have_the_rows_in_their_order() -> None:
    found = columns(
        ROW, replace(ROW, key={**ROW.key, "function": "main"}, function_id=3, low_confidence=True)
    )
    assert found.key["function"].texts == ("memcpy", "main")
    assert (found.key["binary"].texts, found.key["binary"].index) == (("libc.so.6",), (0, 0))
    assert (found.function_id, found.self, found.total) == ((7, 3), (30, 30), (40, 40))
    assert (found.self_samples, found.visits, found.machines) == ((3, 3), (2, 2), (1, 1))
    assert found.low_confidence == (1,)
    assert found.self_share.value == (0.333333333, 0.333333333)
    assert (found.total_share.lo, found.total_share.hi) == ((0.4, 0.4), (0.6, 0.6))
    assert found.self_core_seconds is not None
    assert found.self_core_seconds.value == (3333333330.0, 3333333330.0)


def test_columns_without_a_value_are_null() -> None:
    none = replace(
        ROW,
        function_id=None,
        self_core_seconds=None,
        total_core_seconds=None,
        self_lo=None,
        self_samples=None,
    )
    found = columns(none)
    assert (found.function_id, found.self_core_seconds, found.total_core_seconds) == (None, None, None)
    assert (found.self_share.lo, found.self_samples) == ((None,), (None,))
    some = columns(none, ROW).self_core_seconds
    assert some is not None
    assert some.lo == (None, 1.0)
    empty = columns()
    assert (empty.key, empty.function_id, empty.self, empty.self_share.value) == ({}, None, (), ())
