"""What selections say of labels and frames, through the store, against counting by hand."""

import itertools
import random
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.selections.matchers import Operator, quoted
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.flame_nodes import Flame
from storage.query.shapes.table import Page, TableQuestion
from tests.fact_writer import DIMENSIONS, FactWriter
from tests.stack_filter_oracle import Frame, left_of

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10_000_000
FRAMES = (
    Frame("main", "main.c", "prog"),
    Frame("parse", "json/parse.c", "prog"),
    Frame("parse", "xml/parse.c", "libxml.so"),
    Frame("malloc", "malloc.c", "libc.so.6"),
    Frame("memcpy", "", "libc.so.6"),
    Frame("lib+0x1", "", "lib"),
)
NAMELESS = FRAMES[-1]
QUERIES: list[dict[str, str]] = [
    {},
    {"select": '{function="parse"}'},
    {"select": '{file=~"xml/.*"}'},
    {"select": '{binary!="libc.so.6"}'},
    {"select": '{function!~"m.*",application="x"}'},
    {"select": '{self.function="malloc"}'},
    {"select": '{self.binary=~"lib.*",self.file=""}'},
    {"select": '{self.file!="",function="malloc"}'},
    {"select": '{function="main",function="malloc"}'},
    {"select": '{function="nowhere"}'},
    {"focus": "xml"},
    {"focus": "^libc", "ignore": "memcpy"},
    {"hide": "parse"},
    {"hide": "lib"},
    {"show": r"\.c$"},
    {"show_from": "parse"},
    {"hide": "xml", "show_from": "parse|malloc", "select": '{app="y"}'},
    {"focus": "main", "hide": ".", "select": '{binary="prog"}'},
    {"select": '{function="malloc"}', "focus": "parse", "ignore": "nowhere", "show": "parse|malloc"},
]


@dataclass(frozen=True)
class Fact:
    application: str
    stack: tuple[int, ...]
    samples: int


def made_facts() -> list[Fact]:
    """Each stack once per application."""
    draw = random.Random(7)
    distinct = {
        (draw.choice("xy"), tuple(draw.choices(range(len(FRAMES)), k=draw.randint(1, 6)))) for _ in range(120)
    }
    return [Fact(application, stack, draw.randint(1, 90)) for application, stack in sorted(distinct)]


FACTS = made_facts()


@pytest.fixture
def queries(engine: Engine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        ids = [
            write.function(frame.function, file=frame.file, binary=frame.binary, status=1 if frame is NAMELESS else 3)
            for frame in FRAMES
        ]  # fmt: skip
        visit = write.visit("m1", NOON)
        stacks = {stack: write.stack([ids[f] for f in stack]) for stack in {fact.stack for fact in FACTS}}
        for application in "xy":
            samples = {stacks[fact.stack]: fact.samples for fact in FACTS if fact.application == application}
            write.profile(visit, samples, labels={"application": application})
    made = QueryEngine(engine)
    yield made
    made.close()


def asked(**query: str) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **query)


def paths(flame: Flame) -> dict[tuple[tuple[str, str, str], ...], int]:
    """Units that end in each path."""
    found: list[tuple[tuple[str, str, str], ...]] = []
    for parent, index in zip(flame.parent.tolist(), flame.function.tolist(), strict=True):
        row = flame.functions[index]
        found.append(() if parent < 0 else (*found[parent], (row.name, row.file, row.binary)))
    assert len(set(found)) == len(found), "siblings are different"
    return {path: own for path, own in zip(found, flame.self.tolist(), strict=True) if own}


def test_what_is_left_is_what_lists_of_stacks_leave(queries: QueryEngine):
    for query in QUERIES:  # not one test each: a database takes longer than all of them
        check(queries, asked(**query))


def check(queries: QueryEngine, selection: Selection) -> None:
    chosen = [
        fact for fact in FACTS if all(matcher.value == fact.application for matcher in selection.matchers)
    ]
    whole = sum(fact.samples for fact in chosen) * PERIOD
    ends: Counter = Counter()
    own: Counter = Counter()
    total: Counter = Counter()
    named = 0
    for fact in chosen:
        left = left_of([FRAMES[f] for f in fact.stack], selection)
        if left is None:
            continue
        units = fact.samples * PERIOD
        frames = [(frame.function, frame.file, frame.binary) for frame in left]
        ends[tuple(frames)] += units
        own[frames[-1]] += units
        total.update(dict.fromkeys(frames, units))
        named += 0 if FRAMES.index(NAMELESS) in fact.stack else units
    kept = sum(own.values())

    table = queries.ask(TableQuestion(selection, ("function",), Page(limit=1000)))
    rows = {(row.key["function"], row.key["file"], row.key["binary"]): row for row in table.rows}
    assert {key: row.self for key, row in rows.items() if row.self} == own
    assert {key: row.total for key, row in rows.items()} == total
    assert {key: row.self_share for key, row in rows.items()} == pytest.approx(
        {key: own[key] / whole for key in rows}
    ), "shares are of what the labels choose"
    assert table.totals.units == kept
    assert table.totals.kept == pytest.approx(kept / whole)
    assert table.totals.symbolized == pytest.approx(named / kept if kept else 1), "of stacks as sampled"
    first = queries.ask(TableQuestion(selection, ("function",), Page(limit=1)))
    assert sum(row.self for row in first.rows) + first.remainder.self == kept

    binaries = queries.ask(TableQuestion(selection, ("application", "binary"), Page(limit=1000)))
    assert sum(row.self for row in binaries.rows) == kept
    assert paths(queries.ask(FlameTreeQuestion(selection, 10_000)).flame) == ends


VALUES = ("", "a", "b.1")
"""Of the labels below, each in a profile of its own; the first is the label's absence."""
ODD_NAMES = ("team", "app", "build-id", "app.kubernetes.io/name", "thread id", "größe", 'say "hi"')


def test_all_labels_match(engine: Engine):
    names = {"build-id": "build_id", **{name: name for name in (*DIMENSIONS, *ODD_NAMES[:1])}}
    names |= {quoted(name): name for name in (*DIMENSIONS, *ODD_NAMES)}
    with engine.begin() as connection:
        write = FactWriter(connection)
        visit, stack = write.visit("m1", NOON), write.stack([write.function("f")])
        for number, value in enumerate(VALUES):
            labels = dict.fromkeys((*DIMENSIONS, *ODD_NAMES), value) if value else {}
            write.profile(visit, {stack: 10**number}, labels=labels)
    queries = QueryEngine(engine)
    for written, operator in zip(names, itertools.cycle(Operator)):
        value, test = ("a|b.*", {"a", "b.1"}.__contains__) if operator.is_pattern else ("a", "a".__eq__)
        expected = sum(10**n for n, text in enumerate(VALUES) if test(text) != operator.negative)
        selection = asked(select=f"{{{written}{operator}{quoted(value)}}}")
        found = queries.ask(TableQuestion(selection, ("function",), Page())).totals.samples
        assert found == expected, selection.select
    for name in ODD_NAMES:
        rows = queries.ask(TableQuestion(asked(), (name,), Page())).rows
        assert {row.key[name]: row.self // PERIOD for row in rows} == {"": 1, "a": 10, "b.1": 100}
    queries.close()
