"""GIVEN a length of time WHEN it is written and read THEN it is the same."""

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from services.command_line.durations import Duration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("2m", 120),
        ("1h", 3600),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("7d", 604_800),
        (" 5S ", 5),
        ("0s", 0),
    ],
)
def test_what_people_write(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "1 s", "1y", "1s2", "1e3s", "٣s", "1" * 50 + "s"])
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"expected e\.g\. 10s"):
        parse_duration(text)
    with pytest.raises(typer.BadParameter):
        Duration(text)


@given(st.integers(0, 10**10))
def test_round_trip(milliseconds):
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)
