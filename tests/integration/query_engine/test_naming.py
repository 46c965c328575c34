"""Functions that get a name, or a better one, while the tree of stacks knows them."""

import pytest
from sqlalchemy import Engine

from storage.database import snapshot
from storage.errors import DatabaseBusy
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.files import StackFiles
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import StackTree
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import NOON, PERIOD, around_noon, rebuild, shown

pytestmark = pytest.mark.integration


def test_a_function_gets_its_name_while_the_tree_knows_it_nameless(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function("main")
        nameless = write.function("lib.so+0x10", status=1, start=("ab", 16))
        named = write.function("crc32", status=2)
        stacks = [
            write.stack([main, nameless]),
            write.stack([main, named]),
            write.stack([main, named, nameless]),
        ]
        write.profile(write.visit("m1", NOON), dict.fromkeys(stacks, 1))
    before = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert ("lib.so+0x10", "", "") in shown(before)
    assert before.totals.symbolized == pytest.approx(1 / 3)
    with engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)
    after = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert shown(after) == {("crc32", "", ""): (3 * PERIOD, 3 * PERIOD), ("main", "", ""): (0, 3 * PERIOD)}
    assert after.totals.symbolized == 1
    flame = queries.ask(FlameTreeQuestion(around_noon(), 100)).flame
    assert len(flame.total) == 4, "root, main, crc32 (the two became one) and crc32 below crc32"


@pytest.fixture
def renamed(engine: Engine) -> tuple[int, int, int]:
    """Sampled is a function that has no name; the other two are names for it, each better than the last."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        nameless = write.function("lib.so+0x10", status=1, start=("ab", 16))
        stack = write.stack([write.function("main"), nameless])
        write.profile(write.visit("m1", NOON), {stack: 1})
        for i in range(40):  # ids the cache has no room for yet
            write.function(f"other{i}")
        names = write.function("crc32", status=2), write.function("crc32", file="crc.c", status=3)
    return nameless, *names


def called(queries: QueryEngine) -> set[tuple[str, ...]]:
    return set(shown(queries.ask(TableQuestion(around_noon(), ("function",), Page())))) - {("main", "", "")}


def name(engine: Engine, nameless: int, named: int) -> None:
    with engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_name_gives_way_to_a_better_one(
    engine: Engine, queries: QueryEngine, files: StackFiles, renamed, rebuilt: bool
):
    nameless, symtab, full = renamed
    assert called(queries) == {("lib.so+0x10", "", "")}
    for better, shown_ in ((symtab, ("crc32", "", "")), (full, ("crc32", "crc.c", ""))):
        name(engine, nameless, better)
        if rebuilt:
            rebuild(engine, queries, files)
        assert called(queries) == {shown_}


def test_a_query_with_an_older_snapshot_takes_no_name_back(engine: Engine, queries: QueryEngine, renamed):
    nameless, symtab, full = renamed
    name(engine, nameless, symtab)
    source = queries._source
    with snapshot(engine) as older:
        assert source.read(older, around_noon()).shape.function.tolist()[-1] == symtab
        name(engine, nameless, full)
        assert called(queries) == {("crc32", "crc.c", "")}
        assert source.read(older, around_noon()).shape.function.tolist()[-1] == full


def test_a_name_that_could_not_be_read_is_read_by_the_next_query(
    engine: Engine, queries: QueryEngine, renamed, monkeypatch: pytest.MonkeyPatch
):
    nameless, symtab, _ = renamed
    called(queries)
    name(engine, nameless, symtab)

    def too_slow(*_args) -> None:
        raise DatabaseBusy("statement timeout")

    with monkeypatch.context() as patch:
        patch.setattr(Functions, "_read", too_slow)
        with pytest.raises(DatabaseBusy):
            called(queries)
    assert called(queries) == {("crc32", "", "")}


def test_a_name_another_query_found_and_has_not_put_into_the_tree_yet_is_in_the_answer(
    engine: Engine, queries: QueryEngine, renamed, monkeypatch: pytest.MonkeyPatch
):
    nameless, symtab, _ = renamed
    called(queries)
    name(engine, nameless, symtab)

    def stopped(*_args) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(StackTree, "forget_functions", stopped)
        with pytest.raises(InterruptedError):
            called(queries)
    assert called(queries) == {("crc32", "", "")}


def test_a_shape_comes_with_the_names_it_was_made_of(engine: Engine, queries: QueryEngine, renamed):
    nameless, symtab, _ = renamed
    source = queries._source
    with snapshot(engine) as connection:
        stacks = source.read(connection, around_noon()).facts.stack
        shape, naming = source.shape(connection, stacks)
    name(engine, nameless, symtab)
    assert called(queries) == {("crc32", "", "")}
    assert naming.canonical[shape.function[1:]].tolist() == shape.function[1:].tolist()
