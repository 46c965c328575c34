"""Selections as people write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.matchers import Matcher, Operator, format_matchers
from storage.query.selections.selection import parse_selection
from storage.query.selections.times import format_time, parse_time

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_./-]{0,10}", fullmatch=True).filter(lambda name: name != "app")
values = st.text(st.characters(exclude_characters="\0"), max_size=20)
matchers = st.one_of(
    st.builds(Matcher, names, st.sampled_from([Operator.EQUAL, Operator.NOT_EQUAL]), values),
    st.builds(
        Matcher,
        names,
        st.sampled_from([Operator.MATCHES, Operator.NOT_MATCHES]),
        st.sampled_from(["", "Zen.*", r"a\.b|\"c\"", "(?i)x+", "a`b"]),
    ),
)


@given(st.lists(matchers, max_size=5).map(tuple))
def test_what_is_written_is_read(given_matchers: tuple[Matcher, ...]):
    assert parse_matchers(format_matchers(given_matchers)) == given_matchers


@given(st.text(max_size=30))
def test_any_text_is_matchers_or_an_error_with_a_position_in_it(text: str):
    try:
        found = parse_matchers(text)
    except BadSelection as error:
        at = error.at
    else:
        assert parse_matchers(format_matchers(found)) == found
        at = 0
    assert at is not None
    assert 0 <= at <= len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("{}", ()),
        (" { } ", ()),
        ('app="x"', (Matcher("application", Operator.EQUAL, "x"),)),
        ('{app="x",}', (Matcher("application", Operator.EQUAL, "x"),)),
        ('{ a = "1" , b!="2" }', (Matcher("a", Operator.EQUAL, "1"), Matcher("b", Operator.NOT_EQUAL, "2"))),
        (r'{a="\"\\\n\t\r"}', (Matcher("a", Operator.EQUAL, '"\\\n\t\r'),)),
        (r"{a=~`\d+\.so`}", (Matcher("a", Operator.MATCHES, r"\d+\.so"),)),
        (r'{a!~"\\d+"}', (Matcher("a", Operator.NOT_MATCHES, r"\d+"),)),
        ('{app.kubernetes.io/name="x"}', (Matcher("app.kubernetes.io/name", Operator.EQUAL, "x"),)),
        ('{a="},{"}', (Matcher("a", Operator.EQUAL, "},{"),)),
    ],
)
def test_the_grammar(text: str, expected: tuple[Matcher, ...]):
    assert parse_matchers(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("{", 1, "Expected a closing brace at character 2, found the end"),
        ("{a", 2, "Expected one of = != =~ !~ at character 3, found the end"),
        ('{a="1"', 6, "closing brace"),
        ('{a="1"}}', 7, "the end"),
        ('{a="1" b="2"}', 7, "Expected a comma or a closing brace at character 8, found 'b'"),
        ('a="1"}', 5, "comma or the end"),
        ('{,a="1"}', 1, "label's name"),
        ('{1a="1"}', 1, "label's name"),
        ('{a=="1"}', 3, "double quotes"),
        ("{a=1}", 3, "double quotes"),
        ("{a='1'}", 3, "double quotes"),
        ("{a~'1'}", 2, "one of = != =~ !~"),
        ('{a="1}', 3, "that begins at character 4 does not end"),
        (r'{a="\d"}', 5, "after the backslash"),
        ('{a=~"("}', 6, "not valid"),
        (r'{a=~"(x)\\1"}', 8, "not valid"),
        ('{a="\0"}', 4, "has a NUL character at character 5"),
        ("{" + 'a="1",' * 33 + "}", None, "more than 32"),
        ('{a=~"' + "x" * 600 + '"}', 517, "512 are allowed"),
        ('{a="' + "x" * 5000 + '"}', 4096, "4096 are allowed"),
    ],
)
def test_mistakes_say_where_and_what(text: str, at: int | None, said: str):
    with pytest.raises(BadSelection) as caught:
        parse_matchers(text)
    assert said in str(caught.value)
    assert at is None or caught.value.at == at


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
    with pytest.raises(BadSelection, match="is not a time"):
        parse_time(text, now=NOW)


def test_a_time_without_a_zone_could_mean_two():
    with pytest.raises(BadSelection, match="no zone") as caught:
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
    "texts",
    [
        {"start": "now", "end": "now"},
        {"event": ""},
        {"event": "x" * 300},
        {"campaign": "\0"},
        {"focus": "["},
        {"ignore": "(?=x)"},
        {"focus": "x{1000}{1000}"},
    ],
)
def test_selections_that_mean_nothing(texts: dict[str, str]):
    with pytest.raises(BadSelection):
        parse_selection(now=NOW, **texts)
