"""GIVEN a store that gets new stacks and loses old ones WHEN questions are asked THEN the engine keeps what the store has."""

import gc
import tracemalloc
import weakref
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete

from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.status import StatusQuestion
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.files import StackFiles
from storage.schema import chunk, function, profile, stack, stack_block
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import rebuild

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NEW = 40
"""Stacks and functions of a round."""


@pytest.fixture
def files(tmp_path: Path) -> StackFiles:
    return StackFiles(tmp_path / "stacks")


@pytest.fixture
def queries(engine: Engine, files: StackFiles):
    made = QueryEngine(engine, files=files)
    yield made
    made.close()


def ask(queries: QueryEngine) -> int:
    selection = parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z")
    queries.ask(TableQuestion(selection, ("function",), Page()))
    queries.ask(LabelsQuestion(selection))
    queries.ask(StatusQuestion())
    return int(queries.ask(FlameTreeQuestion(selection, 1000)).flame.total[0])


def ingest(engine: Engine, round_: int) -> None:
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


@pytest.mark.slow
def test_what_was_swept_from_the_dictionaries_is_kept_no_longer(
    engine: Engine, queries: QueryEngine, files: StackFiles
) -> None:
    sizes, older = [], []
    for round_ in range(5):
        ingest(engine, round_)
        assert ask(queries) > 0
        older.append(weakref.ref(queries._source))
        rebuild(engine, queries, files)
        held = queries.caches()
        assert held["stack_file"].rows == NEW
        assert held["stacks"].rows == 0
        assert held["functions"].rows == 1, "the one that stands for all"
        sizes.append(held)
        sweep(engine)
    gc.collect()
    assert not any(ref() for ref in older)
    ids = 5 * NEW
    grown = sizes[-1]["stack_file"].bytes - sizes[0]["stack_file"].bytes
    assert grown <= (4 + 8 + 12 + 1 + 4) * ids + 64 * 20, "4 bytes a stack's id, 25 a function's"
    assert sizes[-1]["functions"].bytes - sizes[0]["functions"].bytes <= 19 * ids


def test_names_are_right_where_a_function_is_named_while_all_is_renewed(
    engine: Engine, queries: QueryEngine, files: StackFiles
) -> None:
    with engine.begin() as connection:
        write = FactWriter(connection)
        nameless, other = (write.function(f"lib+{n}", status=1, start=("k", n)) for n in (1, 2))
        write.profile(write.visit("m", NOON), {write.stack([nameless]): 2, write.stack([other]): 1})
    ask(queries)
    rebuild(engine, queries, files)
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.alias(nameless, write.function("named"))
    rebuild(engine, queries, files)
    selection = parse_selection(start="2026-11-21T11:00:00Z", end="2026-11-21T13:00:00Z")
    rows = queries.ask(TableQuestion(selection, ("function",), Page())).rows
    assert [row.key["function"] for row in rows] == ["named", "lib+2"]


@pytest.mark.slow
def test_the_same_questions_take_no_more_memory_the_more_often_they_are_asked(
    engine: Engine, queries: QueryEngine, files: StackFiles
) -> None:
    ingest(engine, 0)
    rebuild(engine, queries, files)
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
