"""GIVEN answers of /series and /movers WHEN they are shown in a terminal THEN figures and reasons stand there."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from services.views import movers, series

GOLDEN = Path(__file__).parents[3] / "golden/api"


def answer(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def series_answer() -> dict:
    """The steps and points of /series as rows."""
    found = answer("series")
    steps, scale = found["steps"], found["seconds_per_unit"]
    found["steps"] = [dict(zip(steps, row, strict=True)) for row in zip(*steps.values(), strict=True)]
    for line in found["lines"]:
        columns = line["points"]
        line["points"] = [
            {
                "start": step["start"],
                "units": units,
                "seconds": units * scale,
                "low_confidence": place in columns["low_confidence"],
                "visits": columns["visits"][place],
                "share": columns["share"]["value"][place],
                "lo": columns["share"]["lo"][place],
                "hi": columns["share"]["hi"][place],
                "core_seconds": {name: values[place] for name, values in columns["core_seconds"].items()},
                "cores": {
                    name: values[place] / step["weighed_seconds"]
                    for name, values in columns["core_seconds"].items()
                },
            }
            for place, (step, units) in enumerate(zip(found["steps"], columns["units"], strict=True))
        ]
    return found


def text_of(renderable, width=120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_a_series_has_a_line_for_each_step():
    found = series_answer()
    found["steps"][1]["partial"] = True
    found["lines"][1]["key"]["function"] = "vec<[int]>::at"
    text = text_of(series.series(found))
    assert "2026-11-18 12:00 " in text
    assert "2026-11-18 12:30*" in text
    assert "* only a part of the step" in text
    assert "vec<[int]>::at" in text
    assert "all others" in text
    assert "1 more rows" in text
    assert "0.3–17.7 ?" in text


def test_where_there_is_little_room_bars_are_cut_and_no_number():
    found = series_answer()
    found["steps"][0]["visits_drawn"] = 12_345
    for line in found["lines"]:
        line["points"][0] |= {"cores": {"value": 33_234.5, "lo": 30_460.5, "hi": 36_201.5}, "visits": 11_210}
    first = text_of(series.series(found), width=72).splitlines()[1]
    assert first.split()[2:4] == ["33,234.5", "30,460.5–36,201.5"]
    assert "11,210 of 12,345" in first
    assert "█" in first
    assert "…" not in first


def test_a_step_that_nobody_saw_has_no_figure():
    found = series_answer()
    for line in found["lines"]:
        line["points"][0] |= {"share": None, "lo": None, "hi": None, "core_seconds": None, "cores": None}
    text = text_of(series.series(found))
    assert "–" in text.splitlines()[1]
    assert "·" in text
    for line in found["lines"]:
        line["points"][1] |= {"cores": None}
    assert "observed" in text_of(series.series(found))


def test_a_step_whose_visits_saw_none_of_it_says_how_much_there_may_be():
    found = series_answer()
    assert "≤" not in text_of(series.series(found))
    for line in found["lines"]:
        line["points"][0] |= {"units": 0, "share": None, "lo": None, "hi": None, "low_confidence": False}
        line["points"][0] |= {"cores": {"value": 0.0, "lo": 0.0, "hi": 0.0123}}
    lines = text_of(series.series(found)).splitlines()
    assert lines[1].split()[2:5] == ["0.0", "≤", "0.0123"]
    assert "█" not in lines[1]
    assert "≤ upper bound (95 %): none of the step's visits has samples of the selection" in lines


def test_a_step_of_which_too_little_has_ingested_says_so():
    found = series_answer()
    assert "ingested yet" not in text_of(series.series(found))
    found["steps"][1]["too_few_ingested"] = True
    for line in found["lines"]:
        line["points"][1] |= {"share": None, "lo": None, "hi": None, "core_seconds": None, "cores": None}
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


def explained(**more) -> dict:
    figures = {"value": 0.97, "lo": 0.8, "hi": 1.1}
    found = {
        "label": "version",
        "kind": "mix",
        "value": "2",
        "explained": figures,
        "p": 0.001,
        "significant": True,
    }
    return {**found, **more}


@pytest.fixture
def moved() -> dict:
    found = answer("movers")
    row = {
        "key": {"function": "vec<[int]>::at", "file": "", "binary": "web"}, "function_id": 1,
        "a_share": 0.3, "b_share": 0.2, "delta": 0.1, "lo": 0.05, "hi": 0.15, "p": 0.001, "q": 0.002,
        "significant": True, "low_confidence": False, "a_cores": None, "b_cores": None, "cores": None,
        "cause": {"best": explained(), "inseparable": [explained(label="compiler", value="")], "explanations": [], "visits": 60, "base_visits": 50},
        "because": None,
    }  # fmt: skip
    found["movers"] = [row]
    return found


def test_a_mover_stands_with_its_cause(moved: dict):
    text = " ".join(text_of(movers.movers(moved), width=200).split())
    assert (
        "+10.00 pp +5.00…+15.00 30.0 % 20.0 % vec<[int]>::at version 2: its part of the whole changed, 97% (80%–110%)"
        in text
    )
    assert "inseparable from compiler (none)" in text
    assert "is detected with probability" in text


def test_without_a_cause_the_reason_stands_there(moved: dict):
    row = moved["movers"][0]
    row["cause"]["best"] = None
    assert movers.cause(row).plain == "no label explains half of the change"
    row |= {"cause": None, "because": {"reason": "too_little", "detail": "It needs 8 visits."}}
    assert movers.cause(row).plain == "It needs 8 visits."
    row["because"]["reason"] = "not_asked"
    assert movers.cause(row).plain == ""
    assert "None of 2 rows changed significantly and by 0.1 % or more" in text_of(
        movers.movers({**moved, "movers": []})
    )
    unavailable = {"reason": "no_design", "detail": "Visits were not drawn at random."}
    text = text_of(movers.movers({**moved, "because": unavailable, "part": 0.5}))
    assert text.strip() == "No mover is reported. Visits were not drawn at random."
    assert "searched in a random 50.0 % of the visits" in text_of(movers.movers({**moved, "part": 0.5}))
    judged = {**moved, "compared_part": 0.25}
    assert "tested on a random 25.0 % of the visits" in text_of(movers.movers(judged))
