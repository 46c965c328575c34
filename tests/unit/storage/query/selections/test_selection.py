"""Selections as people write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections.selection import PATTERNS, parse_selection
from storage.query.selections.times import format_time, parse_length, parse_time

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("now-15m", NOW - timedelta(minutes=15)),
        ("now - 1h30m", NOW - timedelta(minutes=90)),
        ("now-1w2d3h4m5s", NOW - timedelta(days=9, hours=3, minutes=4, seconds=5)),
        ("now+1d", NOW + timedelta(days=1)),
        ("2026-11-21T04:00:00Z", NOW.replace(hour=4)),
        ("2026-11-21T06:00:00+02:00", NOW.replace(hour=4)),
        ("2026-11-21T04:00:00.250Z", NOW.replace(hour=4, microsecond=250_000)),
    ],
)
def test_times(text: str, expected: datetime):
    assert parse_time(text, now=NOW) == expected


@pytest.mark.parametrize(
    "text", ["", "yesterday", "now-", "now-5", "now-5y", "15m", "2026-13-01T00:00:00Z", "now-999999w", "1969-01-01T00:00:00Z",
             "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "now-٣m"]
)  # fmt: skip
def test_what_is_no_time(text: str):
    with pytest.raises(BadSelection, match="Invalid time"):
        parse_time(text, now=NOW)


def test_a_time_without_a_zone_could_mean_two():
    with pytest.raises(BadSelection, match="no time zone") as caught:
        parse_time("2026-11-21T04:00:00", now=NOW)
    assert "2026-11-21T04:00:00Z" in caught.value.hint


@given(st.datetimes(datetime(1970, 1, 2), datetime(8999, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis adds the zone
def test_times_are_read_as_they_are_written(time: datetime):
    assert parse_time(format_time(time), now=NOW) == time


def test_defaults_are_the_last_hour_of_the_standing_campaign():
    selection = parse_selection(now=NOW)
    assert (selection.start, selection.end) == (NOW - timedelta(hours=1), NOW)
    assert (selection.event, selection.campaign, selection.select) == ("cpu", "fleet", "{}")


@pytest.mark.parametrize(
    ("texts", "parameter", "at"),
    [
        ({"start": "now", "end": "now"}, "from", None),
        ({"start": "  yesterday"}, "from", 2),
        ({"end": " 2026-11-21T04:00:00 "}, "to", 20),
        ({"start": "now-" + "1d" * 5_000_000}, "from", 64),
        ({"end": "now\0"}, "to", 3),
        ({"event": ""}, "event", None),
        ({"event": "x" * 300}, "event", 200),
        ({"unit": "\ud800"}, "unit", 0),
        ({"campaign": "a\0"}, "campaign", 1),
        ({"select": "{a"}, "select", 2),
        ({"focus": "x["}, "focus", 2),
        ({"ignore": "a(?=x)"}, "ignore", 1),
        ({"hide": "x{1000}{1000}"}, "hide", 1),
        ({"show": "a)"}, "show", 1),
        ({"show_from": "\udcff"}, "show_from", 0),
        ({"show_from": "x" * 10_000_000}, "show_from", 512),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value),
)
def test_selections_that_mean_nothing(texts: dict[str, str], parameter: str, at: int | None):
    with pytest.raises(BadSelection) as caught:
        parse_selection(now=NOW, **texts)
    assert (caught.value.parameter, caught.value.at) == (parameter, at)
    assert len(str(caught.value)) < 1000
    with pytest.raises(BadSelection) as caught:
        parse_selection(now=NOW, prefix="base_", **texts)
    assert caught.value.parameter == f"base_{parameter}"


def test_matchers_are_of_labels_or_of_frames():
    selection = parse_selection(now=NOW, select='{self.file="a.c",app="x",function!~"m.*"}')
    assert [matcher.label for matcher in selection.matchers] == ["application"]
    assert [matcher.label for matcher in selection.frames] == ["self.file", "function"]
    assert selection.select == '{application="x",self.file="a.c",function!~"m.*"}'
    assert parse_selection(now=NOW, select=selection.select) == selection


@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_said_of_frames_filters_stacks(name: str):
    plain = parse_selection(now=NOW, select='{app="x"}')
    assert not plain.filters_stacks
    assert parse_selection(now=NOW, select='{binary="x"}').filters_stacks
    narrowed = parse_selection(now=NOW, **{name: "x"})
    assert narrowed.filters_stacks
    assert narrowed.contracts_stacks == (name not in {"focus", "ignore"})


def test_equal_questions_are_equal():
    one = parse_selection(now=NOW, select='{app="x", function="f"}')
    two = parse_selection(now=NOW, select='function="f",app="x"', prefix="base_")
    assert one == two
    assert hash(one) == hash(two)


def test_lengths_of_time_are_read_or_refused():
    assert [parse_length(text) for text in ("90s", "5m", "1d12h", "1w")] == [90, 300, 129_600, 604_800]
    for text in ("", "5", "m", "0s", "-5m", "5 m", "1.5h", "99999999w", "٣m", "5m\0"):
        with pytest.raises(BadSelection, match="duration") as caught:
            parse_length(text, parameter="step")
        assert caught.value.parameter == "step"
