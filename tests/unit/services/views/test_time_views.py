"""GIVEN answers of /series and /movers WHEN they are shown in a terminal THEN figures and reasons stand there."""

import io
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from services.views import movers, series
from storage.query.answers.answer import adapter
from storage.query.answers.figures import Interval
from storage.query.answers.movers import Cause, Explained, Mover, MoversAnswer, MoverUnavailable, Release
from storage.query.answers.series import LineRows, PointRow, SeriesRows, SeriesStep
from storage.query.answers.series_columns import IntervalColumns, SeriesAnswer, SeriesPoints

NO_FIGURES = dict.fromkeys(("share", "lo", "hi", "core_seconds", "cores"))
GOLDEN = Path(__file__).parents[3] / "golden/api"


def answer(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def series_answer() -> SeriesRows:
    """The steps and points of /series as rows."""
    found = adapter(SeriesAnswer).validate_python(answer("series"))
    scale = found.seconds_per_unit
    steps = tuple(
        SeriesStep(*values)
        for values in zip(*(getattr(found.steps, field.name) for field in fields(SeriesStep)), strict=True)
    )

    def point(columns: SeriesPoints, place: int) -> PointRow:
        core_seconds, share = interval(columns.core_seconds, place), interval(columns.share, place)
        return PointRow(
            start=steps[place].start,
            units=columns.units[place],
            seconds=columns.units[place] * scale,
            share=share.value,
            lo=share.lo,
            hi=share.hi,
            core_seconds=core_seconds,
            cores=core_seconds.scaled(1 / steps[place].estimated_seconds),
            low_confidence=place in columns.low_confidence,
            visits=columns.visits[place],
        )

    lines = tuple(
        LineRows(
            line.role,
            line.key,
            line.function_id,
            tuple(point(line.points, place) for place in range(len(steps))),
        )
        for line in found.lines
    )
    of_all = found.selection, found.totals, found.by, found.step_seconds, scale
    return SeriesRows(*of_all, steps, lines, found.lines_total)


def interval(columns: IntervalColumns, place: int) -> Interval:
    return Interval(columns.value[place], columns.lo[place], columns.hi[place])


def with_step(found: SeriesRows, number: int, **members: Any) -> SeriesRows:
    steps = [replace(step, **members) if number == at else step for at, step in enumerate(found.steps)]
    return replace(found, steps=tuple(steps))


def with_points(found: SeriesRows, number: int, **members: Any) -> SeriesRows:
    """The series with other members in a step's points of all lines."""
    lines = [
        replace(
            line,
            points=tuple(
                replace(point, **members) if number == at else point for at, point in enumerate(line.points)
            ),
        )
        for line in found.lines
    ]
    return replace(found, lines=tuple(lines))


def text_of(renderable, width=120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_a_series_has_a_line_for_each_step():
    found = with_step(series_answer(), 1, partial=True)
    found.lines[1].key["function"] = "vec<[int]>::at"
    text = text_of(series.series(found))
    assert "2026-11-18 12:00 " in text
    assert "2026-11-18 12:30*" in text
    assert "* only a part of the step" in text
    assert "vec<[int]>::at" in text
    assert "all others" in text
    assert "1 more rows" in text
    assert "0.3–17.7 ?" in text


def test_where_there_is_little_room_bars_are_cut_and_no_number():
    found = with_step(series_answer(), 0, visits_drawn=12_345)
    found = with_points(found, 0, cores=Interval(33_234.5, 30_460.5, 36_201.5), visits=11_210)
    first = text_of(series.series(found), width=72).splitlines()[1]
    assert first.split()[2:4] == ["33,234.5", "30,460.5–36,201.5"]
    assert "11,210 of 12,345" in first
    assert "█" in first
    assert "…" not in first


def test_a_step_without_visits_has_no_figure():
    found = with_points(series_answer(), 0, **NO_FIGURES)
    text = text_of(series.series(found))
    assert "–" in text.splitlines()[1]
    assert "·" in text
    assert "observed" in text_of(series.series(with_points(found, 1, cores=None)))


def test_a_step_whose_visits_saw_none_of_it_says_how_much_there_may_be():
    found = series_answer()
    assert "≤" not in text_of(series.series(found))
    found = with_points(found, 0, units=0, share=None, lo=None, hi=None, low_confidence=False)
    found = with_points(found, 0, cores=Interval(0.0, 0.0, 0.0123))
    lines = text_of(series.series(found)).splitlines()
    assert lines[1].split()[2:5] == ["0.0", "≤", "0.0123"]
    assert "█" not in lines[1]
    assert "≤ upper bound (95 %): none of the step's visits has samples of the selection" in lines


def test_a_step_of_which_too_little_has_ingested_says_so():
    found = series_answer()
    assert "ingested yet" not in text_of(series.series(found))
    found = with_points(with_step(found, 1, too_few_ingested=True), 1, **NO_FIGURES)
    text = text_of(series.series(found))
    assert "…" in text.splitlines()[2]
    assert "… too few of the step's visits have been ingested yet" in text


@given(st.lists(st.one_of(st.none(), st.floats(0, 1))))
def test_a_sparkline_has_a_character_for_each_value(values: list[float | None]):
    drawn = series.sparkline(values)
    assert len(drawn) == len(values)
    assert [character == "·" for character in drawn] == [value is None for value in values]
    known = [value for value in values if value is not None]
    if any(known):
        assert drawn[values.index(max(known))] == "█"


def explained(label: str = "version", value: str = "2") -> Explained:
    return Explained(label, "mix", value, Interval(0.97, 0.8, 1.1), p=0.001, significant=True)


@pytest.fixture
def moved() -> MoversAnswer:
    found = adapter(MoversAnswer).validate_json((GOLDEN / "movers.json").read_bytes())
    row = Mover(
        key={"function": "vec<[int]>::at", "file": "", "binary": "web"}, function_id=1,
        a_share=0.3, b_share=0.2, delta=0.1, lo=0.05, hi=0.15, p=0.001, q=0.002,
        significant=True, low_confidence=False, a_cores=None, b_cores=None, cores=None,
        release=None, selection_delta=0.1,
        cause=Cause(explained(), (explained("compiler", ""),), (), 60, 50), because=None,
    )  # fmt: skip
    return replace(found, movers=(row,))


def test_a_mover_stands_with_its_cause(moved: MoversAnswer):
    text = " ".join(text_of(movers.movers(moved), width=200).split())
    assert (
        "+10.00 pp +5.00…+15.00 30.0 % 20.0 % vec<[int]>::at version 2: its part of the whole changed, 97% (80%–110%)"
        in text
    )
    assert "inseparable from compiler (none)" in text
    assert "is detected with probability" in text


def test_a_mover_of_a_release_stands_with_it(moved: MoversAnswer):
    (row,) = moved.movers
    assert row.cause is not None
    found = movers.cause(replace(row, release=Release("shop", "r8", "r7"))).plain
    assert found == "release r8 of shop after r7; inseparable from compiler (none)"


def test_without_a_cause_the_reason_stands_there(moved: MoversAnswer):
    (row,) = moved.movers
    assert row.cause is not None
    unexplained = replace(row, cause=replace(row.cause, best=None))
    assert movers.cause(unexplained).plain == "no label explains half of the change"
    few = MoverUnavailable("too_little", "It needs 8 visits.")
    assert movers.cause(replace(row, cause=None, because=few)).plain == "It needs 8 visits."
    not_computed = replace(row, cause=None, because=replace(few, reason="not_computed"))
    assert movers.cause(not_computed).plain == ""
    assert "None of 2 rows changed significantly and by 0.1 % or more" in text_of(
        movers.movers(replace(moved, movers=()))
    )
    unavailable = MoverUnavailable("no_design", "Visits were not drawn at random.")
    text = text_of(movers.movers(replace(moved, because=unavailable, part=0.5)))
    assert text.strip() == "No mover is reported. Visits were not drawn at random."
    assert "searched in a random 50.0 % of the visits" in text_of(movers.movers(replace(moved, part=0.5)))
    judged = replace(moved, compared_part=0.25)
    assert "tested on a random 25.0 % of the visits" in text_of(movers.movers(judged))
