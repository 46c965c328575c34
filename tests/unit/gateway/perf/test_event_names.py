"""GIVEN any text WHEN it is taken for an event's name THEN it is one value, or one sentence that says what is wrong."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadEventName
from gateway.perf.event_names import (
    EventName,
    GenericName,
    RawName,
    SourceName,
    Term,
    TracepointName,
    parse_event_name,
    parse_terms,
)

words = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)
files = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,12}", fullmatch=True)
values = st.integers(0, (1 << 64) - 1)
terms = st.builds(Term, files, st.one_of(st.none(), values))
names = st.one_of(
    st.builds(GenericName, words),
    st.builds(TracepointName, files, files),
    st.builds(RawName, values),
    st.builds(SourceName, files, st.lists(terms, min_size=1, max_size=3).map(tuple)),
)


def spelled(name: EventName, base: str = "#x") -> str:
    match name:
        case GenericName(text):
            return text
        case TracepointName(subsystem, text):
            return f"tracepoint:{subsystem}:{text}"
        case RawName(config):
            return f"raw:{config:#x}"
        case SourceName(source, found):
            parts = [one.name if one.value is None else f"{one.name}={one.value:{base}}" for one in found]
            return f"pmu:{source}:{','.join(parts)}"


@given(names, st.sampled_from(["#x", "d"]))
def test_what_a_name_says_is_what_is_read(name: EventName, base: str):
    assert parse_event_name(spelled(name, base)) == name


@given(st.text(max_size=250))
def test_any_text_is_a_name_or_a_sentence(text: str):
    for read in (parse_event_name, parse_terms):
        with suppress(BadEventName):
            read(text)


@given(names)
def test_no_name_leaves_the_folder_that_it_is_looked_for_in(name: EventName):
    read = parse_event_name(spelled(name))
    parts: tuple[str, ...] = ()
    match read:
        case TracepointName(subsystem, text):
            parts = (subsystem, text)
        case SourceName(source, found):
            parts = (source, *(one.name for one in found))
    assert not any("/" in part or part.startswith(".") or "\0" in part for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "", "-", "cpu-", "Cpu", "cpu cycles", "tracepoint:", "tracepoint:sched", "tracepoint:sched:", "raw:", "raw:12",
        "tracepoint:..:x", "tracepoint:a/b:c", "tracepoint:a:b:c", "raw:0x", "raw:0x10000000000000000", "pmu:", "pmu:cpu",
        "pmu:cpu:", "pmu:cpu:event=", "pmu:cpu:=1", "pmu:cpu:event=-1", "pmu:cpu:event=1,,umask=2", "pmu:..:x",
        "pmu:cpu:event=18446744073709551616", "uprobe:/bin/true:main", "pmu:cpu: event=1", "cpu\n", "x" * 201,
    ],
)  # fmt: skip
def test_what_is_no_name(text: str):
    with pytest.raises(BadEventName):
        parse_event_name(text)
