"""The one grammar of matchers; the web UI's reader is held to the same goldens (webui/tests/selection)."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storage.errors import BadSelection
from storage.query.selections.grammar import LONGEST, MOST, parse_keys, parse_matchers
from storage.query.selections.matchers import Matcher, Operator, format_matchers, format_name

GOLDEN = Path(__file__).parents[4] / "golden" / "selections"
EXACT = [Operator.EQUAL, Operator.NOT_EQUAL]
PATTERN = [Operator.MATCHES, Operator.NOT_MATCHES]

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
bare = st.from_regex(r"[A-Za-z_][A-Za-z0-9_./-]{0,10}", fullmatch=True)
names = st.one_of(
    bare, texts.filter(bool), st.sampled_from(["app", "build-id", "self.function", 'a"b', "a`b"])
)
expressions = st.sampled_from(["", "Zen.*", r"a\.b|\"c\"", "(?i)x+", "a`b"])
matchers = st.one_of(
    st.builds(Matcher, names, st.sampled_from(EXACT), texts),
    st.builds(Matcher, names, st.sampled_from(PATTERN), expressions),
)
pieces = st.sampled_from(
    [
        "{",
        "}",
        '"',
        "`",
        "=",
        "!",
        "~",
        "=~",
        "!~",
        ",",
        "\\",
        "a",
        "app",
        "(",
        "[",
        "*",
        " ",
        "\n",
        "é",
        "\0",
        "\ud800",
    ]
)


def golden(name: str) -> list[dict]:
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("row", golden("matchers"), ids=lambda row: row["text"])
def test_what_texts_mean(row: dict):
    found = parse_matchers(row["text"])
    assert [{"label": one.label, "operator": str(one.operator), "value": one.value} for one in found] == row[
        "matchers"
    ]
    assert format_matchers(found) == row["written"]


@pytest.mark.parametrize("row", golden("mistakes") + golden("bad_patterns"), ids=lambda row: row["text"])
def test_mistakes_say_where_and_what(row: dict):
    with pytest.raises(BadSelection) as caught:
        parse_matchers(row["text"], parameter="base_select")
    assert row["said"] in str(caught.value)
    assert (caught.value.parameter, caught.value.at) == ("base_select", row["at"])


@given(st.lists(matchers, max_size=5).map(tuple))
def test_what_is_written_is_read(given_matchers: tuple[Matcher, ...]):
    assert parse_matchers(format_matchers(given_matchers)) == given_matchers


@given(st.one_of(st.text(max_size=30), st.lists(pieces, max_size=20).map("".join)))
@example('{a="\ud800"}')
def test_any_text_is_matchers_or_an_error_with_a_position_in_it(text: str):
    try:
        found = parse_matchers(text)
    except BadSelection as error:
        where = error.parameter, error.at
    else:
        assert parse_matchers(format_matchers(found)) == found
        where = "select", 0
    assert where[0] == "select"
    assert where[1] in range(len(text) + 1)


@given(st.lists(matchers, min_size=1, max_size=3).map(tuple), st.data())
def test_a_matcher_knows_where_it_stood(given_matchers: tuple[Matcher, ...], data: st.DataObject):
    text = format_matchers(given_matchers)
    one = data.draw(st.sampled_from(parse_matchers(text)))
    assert text.startswith(format_name(one.label), one.at)


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("{" + 'a="1",' * (MOST + 1) + "}", 1 + 6 * MOST, "more than 32"),
        ('{a=~"' + "x" * 600 + '"}', 517, "512 are allowed"),
        ('{a="' + "x" * 5000 + '"}', LONGEST, "4096 are allowed"),
        ("x" * 10_000_000, LONGEST, "4096 are allowed"),
        ("{" + "n" * 257 + '="1"}', 1, "1 to 256"),
        ('{a="1",b="\udcff"}', 10, "a byte that is not UTF-8 at character 11"),
    ],
    ids=["many", "long pattern", "long", "10 MB", "long name", "surrogate"],
)
def test_limits(text: str, at: int, said: str):
    with pytest.raises(BadSelection, match=said) as caught:
        parse_matchers(text)
    assert caught.value.at == at


def test_the_most_matchers_are_read():
    assert len(parse_matchers('a="1",' * MOST)) == MOST


def test_equal_matchers_are_equal_wherever_they_stand():
    (one,), (_, two) = parse_matchers('a="1"'), parse_matchers('b="2", a = "1"', parameter="base_select")
    assert one == two
    assert hash(one) == hash(two)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("function", ("function",)),
        (" application , version ", ("application", "version")),
        ("app,build-id", ("application", "build_id")),
        ('"app","thread id",a.b/c-d', ("app", "thread id", "a.b/c-d")),
        ('"a,b"', ("a,b",)),
        ("thread id", ("thread id",)),
        ("", ("",)),
        ("a,", ("a", "")),
    ],
)
def test_keys(text: str, keys: tuple[str, ...]):
    assert parse_keys(text) == keys


@given(st.lists(names, min_size=1, max_size=4).map(tuple))
def test_keys_are_read_as_names_are_written(keys: tuple[str, ...]):
    assert parse_keys(",".join(map(format_name, keys))) == keys


@pytest.mark.parametrize(("text", "at"), [('"a" b', 4), ('"a', 0), ('a,"b\\x"', 5), ("a\0", 1)])
def test_mistakes_in_keys(text: str, at: int):
    with pytest.raises(BadSelection) as caught:
        parse_keys(text)
    assert (caught.value.parameter, caught.value.at) == ("by", at)
