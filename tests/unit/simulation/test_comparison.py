"""GIVEN an answer of the API and the truth WHEN they are shown together THEN misses are seen and counted."""

from io import StringIO

from rich.console import Console

from simulation.comparison import compared
from simulation.ground_truth import FunctionTruth, Truth
from storage.query.answers.figures import Interval
from storage.query.answers.table import TableAnswer, TableRow
from storage.query.answers.totals import Totals
from tests.filled_answers import filled

FOUND = Truth(
    units=1e9,
    core_seconds=1.0,
    cores=120.0,
    machines=10,
    utilisation=0.3,
    answering=0.9,
    applications={},
    versions={},
    functions={
        ("memcpy", "libc.so.6"): FunctionTruth(0.05, 0.07, 10),
        ("main", "app"): FunctionTruth(0.2, 0.9, 3),
    },
)


def row(function: str, binary: str, share: float, low: float | None, high: float | None) -> TableRow:
    key = {"function": function, "binary": binary}
    return filled(TableRow, key=key, self_share=share, self_lo=low, self_hi=high)


def shown(rows: list[TableRow], cores: Interval | None = None) -> list[str]:
    answer = filled(TableAnswer, rows=tuple(rows), totals=filled(Totals, cores=cores))
    console = Console(width=120, record=True, file=StringIO())
    console.print(compared(answer, FOUND))
    return console.export_text().splitlines()


def test_intervals_that_hold_the_truth_are_counted():
    lines = shown(
        [row("memcpy", "libc.so.6", 0.052, 0.04, 0.06), row("main", "app", 0.1, 0.05, 0.15)],
        cores=Interval(118.0, 100.0, 140.0),
    )
    assert "118 CPUs busy (100 – 140); ground truth: 120." in lines[1]
    assert lines[2].startswith("1 of 2 intervals contain the ground truth")
    assert "5.20 %" in lines[4]
    assert "5.00 %  ✓" in lines[4]
    assert "20.00 %  ✗" in lines[5]


def test_a_function_that_is_not_in_the_model_has_no_share_of_it():
    lines = shown([row("surprise", "app", 0.01, 0.005, 0.02)])
    assert "0.00 %  ✗" in lines[-1]


def test_without_intervals_nothing_is_judged():
    lines = shown([row("memcpy", "libc.so.6", 0.052, None, None)])
    assert not any("intervals contain" in line for line in lines)
    assert "✓" not in lines[-1]
    assert "✗" not in lines[-1]
