"""Callers and callees over rows in a real PostgreSQL, against counting by hand; by cells as by chunks."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.query.answers.callers import CallersAnswer, CallRow, CallTree, Side
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.callers import CallersQuestion
from storage.query.subject import Subject, parse_subject
from storage.rollup.apply_queue import RollupWriter
from tests.access_paths import BY_CELLS, BY_VISITS
from tests.fact_writer import FactWriter
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PERIOD = 10
NAMES = ("main", "f", "g", "h")
Stack = tuple[int, ...]

stacks = st.lists(
    st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=7).map(tuple), st.integers(1, 5)),
    min_size=1,
    max_size=10,
)
subjects = st.sampled_from(
    ["f", "main", '{function=~"f|g"}', '{binary="lib"}', '{binary="lib",function!="h"}', "nothing"]
)
BINARY = {"main": "prog", "f": "lib", "g": "prog", "h": "lib"}


def around_noon(**more) -> Selection:
    return parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z", **more)


def meant(subject: str) -> set[str]:
    return {
        '{function=~"f|g"}': {"f", "g"},
        '{binary="lib"}': {"f", "h"},
        '{binary="lib",function!="h"}': {"f"},
    }.get(subject, {subject} & set(NAMES))


def edges(taken: list[tuple[Stack, int]], of: set[str]):
    """Itself as (self, total); callers and callees by name, likewise; paths of both trees with their totals."""
    itself, callers, callees = Counter(), {}, {}
    above, below = Counter(), Counter()
    for frames, count in taken:
        names = [NAMES[f] for f in frames]
        units = count * PERIOD
        places = [i for i, name in enumerate(names) if name in of]
        if not places:
            continue
        itself["total"] += units
        itself["self"] += units * (names[-1] in of)
        for name in {names[i - 1] if i else "" for i in places}:
            callers.setdefault(name, [0, 0])[1] += units
        if names[-1] in of:
            callers[names[-2] if len(names) > 1 else ""][0] += units
        for name in {names[i + 1] for i in places if i + 1 < len(names)}:
            callees.setdefault(name, [0, 0])[1] += units
        if len(names) > 1 and names[-2] in of:
            callees[names[-1]][0] += units
        first = places[0]
        up, down = names[:first][::-1], names[first + 1 :]
        above.update({tuple(up[:n]): units for n in range(len(up) + 1)})
        below.update({tuple(down[:n]): units for n in range(len(down) + 1)})
    return (itself["self"], itself["total"]), callers, callees, above, below


def on(side: Side, found: CallersAnswer) -> list[CallRow]:
    return [row for row in found.rows if row.side == side]


def rows(side: Side, found: CallersAnswer) -> dict[str, list[int]]:
    return {row.key.get("function", ""): [row.self, row.total] for row in on(side, found)}


def paths(tree: CallTree) -> dict[tuple[str, ...], float]:
    """Totals in nanoseconds by the names from the root's child down."""
    at: list[tuple[str, ...]] = []
    for node, parent in enumerate(tree.parent):
        name = tree.functions[tree.function[node]].name
        at.append((*at[parent], name) if parent >= 0 else ())
    assert len(set(at)) == len(at), "siblings are of different functions"
    return dict(zip(at, nanoseconds(tree), strict=True))


def nanoseconds(tree: CallTree) -> list[float]:
    return [seconds * 1e9 for seconds in tree.total]


def write_all(write: FactWriter, taken: list[tuple[Stack, int]], visit) -> None:
    ids = [write.function(name, binary=BINARY[name]) for name in NAMES]
    samples: Counter[int] = Counter()
    for frames, count in taken:
        samples[write.stack([ids[f] for f in frames])] += count
    write.profile(visit, samples, period=PERIOD)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taken=stacks, subject=subjects)
def test_calls_are_what_counting_says(engine: Engine, taken: list[tuple[Stack, int]], subject: str):
    with engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE visit, capture, profile, chunk, function CASCADE")
        write = FactWriter(connection)
        write_all(write, taken, write.visit("m", NOON))
    queries = QueryEngine(engine)
    question = CallersQuestion(around_noon(), parse_subject(function=subject))
    found = queries.ask(question)
    queries.close()
    itself, callers, callees, above, below = edges(taken, meant(subject))
    assert (found.itself.self, found.itself.total) == itself
    assert rows("caller", found) == callers
    assert rows("callee", found) == callees
    assert sum(own for own, _ in callers.values()) == itself[0]
    assert paths(found.above) == pytest.approx(above or {(): 0})
    assert paths(found.below) == pytest.approx(below or {(): 0})
    assert found.functions_total == len({NAMES[f] for frames, _ in taken for f in frames} & meant(subject))
    for row in found.rows:
        assert row.total_samples == row.total // PERIOD
        assert row.self_samples == row.self // PERIOD


def test_functions_that_are_asked_for_together_are_one(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        write_all(write, [((1,), 1), ((2,), 1)], write.visit("m", NOON))
    found = queries.ask(CallersQuestion(around_noon(), parse_subject(function='{function=~"f|g"}')))
    assert nanoseconds(found.below) == nanoseconds(found.above) == pytest.approx([20])


def test_pages_and_trees_say_what_they_leave_out(engine: Engine, queries: QueryEngine):
    taken = [((0, 1), 5), ((2, 1), 3), ((3, 1, 2), 1), ((0, 2, 1, 3), 1)]
    with engine.begin() as connection:
        write = FactWriter(connection)
        write_all(write, taken, write.visit("m", NOON))
    found = queries.ask(CallersQuestion(around_noon(), parse_subject(function="f"), limit=1, nodes=2))
    assert rows("caller", found) == {"main": [50, 50]}
    assert (found.callers_total, found.callers_remainder) == (3, 30)
    assert (found.above.pruned_nodes, found.below.pruned_nodes) >= (2, 1)
    assert found.below.pruned_share == pytest.approx(0.1)
    assert found.itself.total == 100
    assert nanoseconds(found.above)[0] == nanoseconds(found.below)[0] == pytest.approx(100)


def test_a_function_is_asked_for_by_its_id_or_by_what_it_was_called(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, work = write.function("main"), write.function("work")
        nameless = write.function("prog+0x40", status=1, start=("abc", 64))
        visit = write.visit("m", NOON)
        write.profile(visit, {write.stack([main, work]): 1, write.stack([main, nameless]): 2}, period=PERIOD)
        write.alias(nameless, work)
    for subject in (Subject(work), Subject(nameless), parse_subject(function="work")):
        found = queries.ask(CallersQuestion(around_noon(), subject))
        assert rows("caller", found) == {"main": [30, 30]}
    nobody = queries.ask(CallersQuestion(around_noon(), Subject(2_000_000_000)))
    assert (nobody.functions, nobody.rows, nobody.itself.total) == ((), (), 0)


def test_the_example_of_the_documentation(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        ids = {name: write.function(name) for name in ("main", "deflate", "crc32", "fold")}
        taken = {"main;deflate;crc32": 6, "main;crc32;crc32;fold": 3, "crc32": 1}
        samples = {write.stack([ids[f] for f in text.split(";")]): n for text, n in taken.items()}
        write.profile(write.visit("m", NOON), samples, period=1)
    found = queries.ask(CallersQuestion(around_noon(), parse_subject(function="crc32")))
    text = (Path(__file__).parents[2] / "docs/api.md").read_text()
    section = text[text.index("## Callers and callees") :].partition("\n## ")[0]
    row_of_table = r"^\| (caller|callee):? `?(\w+)`?.*?\| (\d) \| (\d) \| (0\.\d) \|$"
    told = re.findall(row_of_table, section, re.MULTILINE)
    expected = [
        (
            row.side,
            row.key.get("function", "none"),
            f"{row.self}",
            f"{row.total}",
            f"{row.of_function:.1f}",
        )
        for row in found.rows
    ]
    assert sorted(told) == sorted(expected)
    assert len(told) == 6
    assert (found.itself.self, found.itself.total) == (7, 10)


def test_stacks_are_narrowed_first(engine: Engine, queries: QueryEngine):
    taken = [((0, 1), 5), ((2, 1), 3)]
    with engine.begin() as connection:
        write = FactWriter(connection)
        write_all(write, taken, write.visit("m", NOON))
    found = queries.ask(CallersQuestion(around_noon(ignore="^g$"), parse_subject(function="f")))
    assert rows("caller", found) == {"main": [50, 50]}
    assert found.itself.total_share == pytest.approx(5 / 8)


def fleet(engine: Engine) -> None:
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 50, "west": 20})
        ids = [campaign.write.function(name, binary=BINARY[name]) for name in NAMES]
        made = [
            campaign.write.stack([ids[f] for f in frames])
            for frames in ((0, 1), (0, 2, 1), (0, 1, 1, 3), (0,))
        ]
        for n in range(24):
            visit = campaign.answer(NOON + timedelta(minutes=n - 60), "east" if n % 3 else "west")
            samples = {stack: 1 + (n * (place + 3)) % 7 for place, stack in enumerate(made)}
            campaign.write.profile(visit, samples, period=PERIOD)


@pytest.mark.slow
@pytest.mark.parametrize("subject", ["f", '{function=~"f|g"}', "nothing"])
def test_cells_say_what_chunks_say(engine: Engine, queries: QueryEngine, subject: str):
    queries.planner = BY_VISITS
    fleet(engine)
    question = CallersQuestion(around_noon(), parse_subject(function=subject))
    chunks = queries.ask(question)
    while RollupWriter(engine).rollup().entries:
        pass
    queries.planner = BY_CELLS
    cells = queries.ask(question)
    assert (chunks.totals.path, cells.totals.path) == ("chunks", "cells")
    assert (chunks.borrowed, cells.borrowed) == (False, subject != "nothing")
    sides: tuple[Side, ...] = ("caller", "callee")
    for side in sides:
        assert rows(side, chunks) == rows(side, cells)
        for mine, borrowed in zip(on(side, chunks), on(side, cells), strict=True):
            assert mine.total_share == pytest.approx(borrowed.total_share)
            assert mine.total_lo is not None
            assert borrowed.total_lo <= borrowed.total_share <= borrowed.total_hi
    assert paths(chunks.above) == pytest.approx(paths(cells.above))
    assert paths(chunks.below) == pytest.approx(paths(cells.below))
    if subject == "f":
        a, b = chunks.itself, cells.itself
        assert a.total_lo is not None
        assert (b.total_lo, b.total_hi) == pytest.approx((a.total_lo, a.total_hi))
        assert a.visits == b.visits
