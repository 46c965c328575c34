"""GIVEN a store that gets new stacks and loses old ones WHEN questions are asked THEN the engine keeps what the store has."""

import gc
import tracemalloc
import weakref
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, delete

from storage.query.engine import QueryEngine
from storage.query.selections.selection import parse_selection
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.status import StatusQuestion
from storage.query.shapes.table import TableQuestion
from storage.schema import chunk, function, profile, stack, stack_block
from tests.facts import FactWriter

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NEW = 40
"""Stacks and functions of a round."""


@pytest.fixture
def queries(engine: Engine):
    made = QueryEngine(engine)
    yield made
    made.close()


def ask(queries: QueryEngine) -> int:
    selection = parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z")
    queries.ask(TableQuestion(selection, ("function",), Page()))
    queries.ask(LabelsQuestion(selection))
    queries.ask(StatusQuestion())
    return int(queries.ask(FlameQuestion(selection, 1000)).flame.total[0])


def land(engine: Engine, round_: int) -> None:
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function(f"main {round_}", file="a folder/a file.c", binary="prog")
        functions = [write.function(f"f {round_} {i}", file="a folder/a file.c") for i in range(NEW - 1)]
        stacks = [write.stack([main, f]) for f in functions] + [write.stack([main])]
        write.profile(write.visit(f"m{round_}", NOON), dict.fromkeys(stacks, 1), labels={"application": "a"})


def sweep(engine: Engine) -> None:
    with engine.begin() as connection:
        for table in (chunk, profile, stack, stack_block, function):
            connection.execute(delete(table))


def built(queries: QueryEngine) -> None:
    queries.warm()
    with queries._building:  # until then
        pass


def test_what_was_swept_from_the_dictionaries_is_kept_no_longer(engine: Engine, queries: QueryEngine) -> None:
    sizes, older = [], []
    for round_ in range(5):
        land(engine, round_)
        assert ask(queries) > 0
        older.append(weakref.ref(queries._source))
        built(queries)
        held = queries.caches()
        assert held["stacks"].rows == NEW
        assert held["functions"].rows == NEW + 1, "and the one that stands for all"
        sizes.append(held)
        sweep(engine)
    gc.collect()
    assert not any(ref() for ref in older)
    ids = 5 * NEW
    assert sizes[-1]["stacks"].bytes - sizes[0]["stacks"].bytes <= 4 * ids
    assert sizes[-1]["functions"].bytes - sizes[0]["functions"].bytes <= 27 * ids + 10 * NEW
    assert sizes[-1]["stacks"].bytes < 100 * NEW + 4 * ids
    assert sizes[-1]["functions"].bytes < 400 * NEW + 27 * ids


def test_names_are_right_where_a_function_is_named_while_all_is_renewed(
    engine: Engine, queries: QueryEngine
) -> None:
    with engine.begin() as connection:
        write = FactWriter(connection)
        nameless, other = (write.function(f"lib+{n}", status=1, start=("k", n)) for n in (1, 2))
        write.profile(write.visit("m", NOON), {write.stack([nameless]): 2, write.stack([other]): 1})
    ask(queries)
    built(queries)
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.alias(nameless, write.function("named"))
    built(queries)
    selection = parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z")
    rows = queries.ask(TableQuestion(selection, ("function",), Page())).table.rows
    assert [row.key["function"] for row in rows] == ["named", "lib+2"]


def test_the_same_questions_take_no_more_memory_the_more_often_they_are_asked(
    engine: Engine, queries: QueryEngine
) -> None:
    land(engine, 0)
    built(queries)
    held = []
    tracemalloc.start()
    try:
        for _ in range(4):
            for _ in range(8):
                ask(queries)
            gc.collect()
            held.append(tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    *_, (before, _), (after, peak) = held
    assert peak > after + 50_000, "else nothing was measured"
    assert after - before < 40_000, "drivers warm up still; one answer that is kept is more"
