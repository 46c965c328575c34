"""GIVEN a comparison of two selections WHEN it is shown in a terminal THEN what is chance is said to be so."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from services.views import terminal
from storage.query.answers.diff import DiffAnswer, DiffRow, Power
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


def echo(start: str, end: str, select: str = "{}") -> SelectionEcho:
    return SelectionEcho("cpu", "nanoseconds", start, end, select, "fleet", "", "", "", "", "")


FLEET = Totals(
    samples=1234,
    units=12_460_000_000,
    seconds=12.46,
    machines=3,
    visits=3,
    profiles=130,
    kept=1.0,
    symbolized=0.97,
    leaf_symbolized=0.98,
    complete=1.0,
    design="random",
    path="chunks",
    approximate=False,
    selected_seconds=3600.0,
    covered_seconds=1800.0,
    missing=(),
    estimated_seconds=1350.0,
    population=200.0,
    uncovered_share=0.25,
    visits_drawn=12,
    visits_ingested=12,
    visits_waiting=0,
    core_seconds=Interval(67_500.0, 54_000.0, 84_375.0),
    cores=Interval(50.0, 40.0, 62.5),
    estimate=Interval(67_500e9, 54_000e9, 84_375e9),
)
COMPARED = DiffAnswer(
    selection=echo("2026-11-21T04:00:12.5Z", "2026-11-21T05:00:12.5Z"),
    base=echo("2026-11-20T23:30:00Z", "2026-11-21T00:30:00Z", '{version="1"}'),
    totals=FLEET,
    base_totals=replace(FLEET, samples=77, approximate=True),
    by=("function",),
    rows=(),
    rows_total=0,
    power=None,
    part=1.0,
    interval_level=0.9998,
)
ROW = DiffRow(
    key={"function": "f", "binary": "b", "status": "full"},
    function_id=1,
    a_share=0.2,
    b_share=0.1,
    delta=0.1,
    lo=0.05,
    hi=0.15,
    p=0.001,
    q=0.002,
    significant=True,
    low_confidence=False,
    a_cores=None,
    b_cores=None,
    cores=None,
)


def text_of(renderable: Any, width: int = 100) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_both_sides_of_a_comparison_say_their_times_and_what_stands_behind_them() -> None:
    now, base = text_of(terminal.sides(COMPARED), width=300).splitlines()
    assert now.startswith("now   2026-11-21 04:00–05:00 UTC: 1,234 samples · 50.0 cores busy")
    assert base.startswith(
        'base  2026-11-20 23:30–2026-11-21 00:30 UTC {version="1"}: 77 samples · 50.0 cores busy'
    )
    assert "only a random part" in base
    assert "only a random part" not in now


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("base_totals", "There are no samples to compare with: nothing was sampled in 2026-11-20 23:30"),
        ("totals", "There are no samples to compare: nothing was sampled in 2026-11-21 04:00–05:00 UTC."),
    ],
)
def test_nothing_is_compared_with_nothing(side: str, said: str) -> None:
    """Seen: against a base without samples every function was a change."""
    nothing: Any = {side: replace(FLEET, samples=0)}
    assert text_of(terminal.differences(replace(COMPARED, **nothing)), width=200).startswith(said)


def test_differences_by_chance_are_said_to_be_so() -> None:
    chance = replace(ROW, key={"function": "g"}, significant=False, low_confidence=True)
    answer = replace(COMPARED, rows=(ROW, chance), power=Power(factor=1.5, share=0.01, power=0.83))
    lines = [" ".join(line.split()) for line in text_of(terminal.differences(answer)).splitlines()]
    assert lines[0] == "change 99.98 % self, now base function"
    assert lines[1] == "+10.00 pp +5.00…+15.00 20.0 % 10.0 % f b"
    assert "+15.00 ?" in lines[2]
    assert lines[3].startswith("1 of 2 rows differ by more than chance")
    assert "83.0 %" in lines[4]
    assert len(lines) == 5
    thinned = text_of(terminal.differences(replace(answer, part=0.16)))
    assert "tested on a random 16.0 % of the visits" in " ".join(thinned.split())
    unknown = replace(ROW, lo=None, hi=None, significant=False)
    assert "not known" in text_of(terminal.differences(replace(answer, rows=(unknown,), power=None)))
