"""Which selections cells answer."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy import Connection

from storage.query.access_path import CellPlan, Planner, Shape
from storage.query.facts.visit_scan import SampleType
from storage.query.selections import label_names
from storage.query.selections.selection import Selection, parse_selection
from storage.rollup.cubes import APPLICATION, EVENT

CPU = SampleType("cpu", "nanoseconds", 1)
NO_CONNECTION = cast(Connection, None)
FUNCTIONS: dict[str, Any] = {"labels": (), "frame": "function"}
APPLICATIONS: dict[str, Any] = {"labels": ("application",), "frame": None}


def asked(start: str, length: timedelta, **more: str) -> Selection:
    begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
    return parse_selection(start=begin.isoformat(), end=(begin + length).isoformat(), **more)


def plan(
    selection: Selection, kind: SampleType = CPU, *, labels: tuple[str, ...], frame: str | None
) -> CellPlan | None:
    return Planner().plan(NO_CONNECTION, selection, kind, Shape(labels, frame)).cells


@pytest.mark.parametrize(
    ("start", "hours", "expected"),
    [
        ("2026-11-18T10:00:00", 1.0, (10, 11)),
        ("2026-11-18T10:00:00", 0.5, None),
        ("2026-11-18T10:30:00", 1.0, None),
        ("2026-11-18T10:30:00", 6.0, None),
        ("2026-11-18T10:30:00", 7.0, (11, 17)),
        ("2026-11-18T10:00:00", 6.5, (10, 16)),
        ("2026-11-18T00:00:00", 48.0, (0, 48)),
    ],
)
def test_whole_hours_and_what_is_long(start: str, hours: float, expected: tuple[int, int] | None):
    found = plan(asked(start, timedelta(hours=hours)), **FUNCTIONS)
    midnight = int(datetime(2026, 11, 18, tzinfo=UTC).timestamp()) // 3600
    assert (found and (found.first - midnight, found.end - midnight)) == expected


HOUR = ("2026-11-18T10:00:00", timedelta(hours=1))


def test_the_cube_is_the_smallest_that_covers_the_question(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(label_names, "matching_values", lambda *_: [7])
    assert plan(asked(*HOUR), **FUNCTIONS).cube is EVENT
    assert plan(asked(*HOUR), **APPLICATIONS).cube is EVENT
    of_one = asked(*HOUR, select='{application="x"}')
    assert (plan(of_one, **FUNCTIONS).cube, plan(of_one, **FUNCTIONS).k1) == (APPLICATION, (7,))
    monkeypatch.setattr(label_names, "matching_values", lambda *_: [7, 8])
    assert plan(of_one, **FUNCTIONS) is None, "no cell has a visit's units of both together"


@pytest.mark.parametrize(
    ("more", "labels", "frame"),
    [
        ({"focus": "x"}, (), "function"),
        ({"ignore": "x"}, (), "function"),
        ({"hide": "x"}, (), "function"),
        ({"show": "x"}, (), "function"),
        ({"show_from": "x"}, (), "function"),
        ({"select": '{function="x"}'}, (), "function"),
        ({"select": '{platform="Zen 3"}'}, (), "function"),
        ({"select": '{application="x",machine="m"}'}, (), "function"),
        ({}, (), "binary"),
        ({}, ("version",), None),
        ({}, ("application",), "function"),
    ],
)
def test_what_cells_cannot_tell_the_chunks_do(
    more: dict[str, str], labels: tuple[str, ...], frame: str | None
):
    assert plan(asked(*HOUR, **more), labels=labels, frame=frame) is None


def test_gauges_and_what_was_never_sampled_have_no_cells():
    assert plan(asked(*HOUR), SampleType("heap", "bytes", 2, gauge=True), **FUNCTIONS) is None
    assert plan(asked(*HOUR), SampleType("cpu", "nanoseconds", None), **FUNCTIONS) is None
