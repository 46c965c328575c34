"""GIVEN engines that map a file of stacks and names WHEN the store goes on without it THEN answers are those of an engine that maps none."""

import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, text, update

from storage import identity
from storage.database import snapshot
from storage.dictionary_sweep.sweep import sweep
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.build import build
from storage.query.stacks.errors import FileNotBuilt
from storage.query.stacks.files import StackFiles
from storage.query.stacks.stack_file import StackFile
from storage.schema import chunk, profile, stack_block
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import NOON, around_noon, rebuild, shown, until_built
from tests.polling import until

pytestmark = pytest.mark.integration


def mapped(engine: Engine, files: StackFiles) -> StackFile | None:
    with snapshot(engine) as connection:
        return files.open(connection)


def there(files: StackFiles) -> list[str]:
    return sorted(path.suffix for path in files.folder.iterdir())


def answers(queries: QueryEngine) -> tuple[object, ...]:
    table = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    files = queries.ask(TableQuestion(around_noon(), ("file",), Page()))
    focused = queries.ask(TableQuestion(around_noon(focus="nam|lib"), ("function",), Page()))
    flame = queries.ask(FlameTreeQuestion(around_noon(), 1000)).flame
    called = [row.name for row in flame.functions]
    return (
        shown(table),
        shown(files),
        shown(focused),
        table.totals,
        called,
        flame.total.tolist(),
        flame.parent.tolist(),
    )


@pytest.fixture
def write_some(engine: Engine) -> dict[str, int]:
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function("main", file="main.c", binary="prog")
        nameless = write.function("lib.so+0x10", status=1, start=("ab", 16))
        other = write.function("other", file="other.c", binary="prog")
        stacks = [
            write.stack(frames) for frames in ([main], [main, nameless], [main, other, nameless], [other])
        ]
        write.profile(write.visit("m1", NOON), dict.fromkeys(stacks, 2))
    return {"main": main, "nameless": nameless, "other": other}


def test_answers_follow_what_is_named_ingested_and_swept_after_the_file(
    engine: Engine, queries: QueryEngine, files: StackFiles, write_some: dict[str, int]
):
    plain = QueryEngine(engine)
    rebuild(engine, queries, files)
    assert answers(queries) == answers(plain)
    held = mapped(engine, files)
    assert held is not None
    for status, name in ((2, "named"), (3, "better named")):
        with engine.begin() as connection:
            write = FactWriter(connection)
            write.alias(
                write_some["nameless"], write.function(name, file="other.c", binary="lib.so", status=status)
            )
        assert answers(queries) == answers(plain)
    with engine.begin() as connection:
        write = FactWriter(connection)
        new = write.function("new", file="new.c", binary="prog")
        stack = write.stack([write_some["main"], new, write_some["nameless"], new])
        write.profile(write.visit("m2", NOON), {stack: 5})
    assert answers(queries) == answers(plain) == answers(QueryEngine(engine))
    with engine.begin() as connection:
        connection.execute(delete(chunk))
        connection.execute(delete(profile))
        write = FactWriter(connection)
        write.profile(write.visit("m3", NOON), {stack: 7})
    swept = sweep(engine)
    assert swept is not None
    assert swept.freed["stack"] > 0
    assert answers(queries) == answers(QueryEngine(engine))
    assert queries._source.file.token == held.token, "all of it out of the first file"
    plain.close()


@pytest.mark.slow
def test_a_file_of_an_earlier_epoch_is_mapped_and_built_again(
    engine: Engine, queries: QueryEngine, files: StackFiles, write_some: dict[str, int]
):
    rebuild(engine, queries, files)
    before = queries._source.file
    with engine.begin() as connection:
        connection.execute(text("UPDATE dictionary_epoch SET epoch = epoch + 1"))
    another = QueryEngine(engine, files=StackFiles(files.folder))
    another.warm()
    assert another._source.file.stacks == 4, "mapped at once, whichever of the two"
    until_built(another)
    after = another._source.file
    assert after.token != before.token
    assert after.made_of is not None
    assert before.made_of is not None
    assert after.made_of.epoch == before.made_of.epoch + 1
    assert there(files) == [".stacks"]
    another.close()


def damage_cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.write_bytes(content)


def damage_empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [damage_cut, damage_byte, damage_empty])
def test_a_damaged_file_is_refused_by_name_and_built_again(
    engine: Engine, files: StackFiles, write_some: dict[str, int], damage, caplog: pytest.LogCaptureFixture
):
    build(engine, files)
    (path,) = files.folder.iterdir()
    damage(path)
    queries = QueryEngine(engine, files=files)
    with caplog.at_level(logging.WARNING):
        queries.warm()
    assert str(path) in caplog.text
    until_built(queries)
    assert queries._source.file.stacks == 4
    queries.close()


def test_a_restored_database_has_no_file_of_its_former_self(
    engine: Engine, files: StackFiles, write_some: dict[str, int]
):
    build(engine, files)
    with engine.begin() as connection:
        identity.renew(connection)
    assert mapped(engine, files) is None
    assert there(files) == [".stacks"]
    build(engine, files)
    assert mapped(engine, files) is not None
    assert there(files) == [".stacks"], "the former self's is gone"


@pytest.mark.parametrize("newest", ["stack", "function"])
def test_a_database_that_went_back_in_time_has_its_file_built_again(
    engine: Engine, files: StackFiles, write_some: dict[str, int], newest: str
):
    build(engine, files)
    with engine.begin() as connection:
        if newest == "stack":
            connection.execute(delete(stack_block))
            FactWriter(connection).stack([write_some["other"], write_some["main"]])
        else:
            connection.execute(text("UPDATE function SET hash = gen_random_uuid()"))
    assert mapped(engine, files) is None


def test_files_of_two_databases_lie_side_by_side(
    engine: Engine, module_engine: Engine, files: StackFiles, write_some: dict[str, int]
):
    for each in (engine, module_engine):
        build(each, files)
    assert there(files) == [".stacks", ".stacks"]
    ours, theirs = mapped(engine, files), mapped(module_engine, files)
    assert ours is not None
    assert theirs is not None
    assert (ours.stacks, theirs.stacks) == (4, 0)


def test_what_nobody_opened_for_long_is_removed_by_the_next_build(
    engine: Engine, files: StackFiles, write_some: dict[str, int]
):
    files.folder.mkdir(parents=True)
    for name, days in (("old.stacks", 31), ("lately.stacks", 29), ("killed.stacks.part", 0)):
        (files.folder / name).touch()
        then = time.time() - days * 86_400
        os.utime(files.folder / name, (then, then))
    build(engine, files)
    names = {path.name for path in files.folder.iterdir()}
    assert len(names) == 2
    assert "lately.stacks" in names


@pytest.mark.slow
def test_processes_that_begin_at_the_same_time_build_one_file(
    engine: Engine, files: StackFiles, write_some: dict[str, int]
):
    engines = [QueryEngine(engine, files=StackFiles(files.folder)) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(QueryEngine.warm, engines))
    for queries in engines:
        until_built(queries)
    assert len({queries._source.file.token for queries in engines}) == 1
    assert len({str(answers(queries)) for queries in engines}) == 1
    for queries in engines:
        queries.close()


@pytest.mark.slow
def test_a_build_that_is_killed_leaves_the_file_there_was(
    engine: Engine, files: StackFiles, write_some: dict[str, int]
):
    build(engine, files)
    held = mapped(engine, files)
    assert held is not None
    for seconds in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):  # some before it has the lock, some when it has written
        command = [sys.executable, "-m", "storage.query.stacks.build", str(files.folder), held.token]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None
            child.stdin.write(engine.url.render_as_string(hide_password=False))
            child.stdin.close()
            time.sleep(seconds)
            child.send_signal(signal.SIGKILL)
        found = mapped(engine, files)
        assert found is not None
        assert found.stacks == 4
    build(engine, files, found.token)
    assert there(files) == [".stacks"]


@pytest.mark.slow
def test_why_nothing_was_built_is_said(engine: Engine, files: StackFiles, write_some: dict[str, int]):
    with engine.begin() as connection:
        connection.execute(update(stack_block).values(data=b"damaged"))
    with pytest.raises(FileNotBuilt, match="CorruptChunk"):
        files.build(engine.url, "")
    assert there(files) == []


def test_a_build_ends_with_its_engine(engine: Engine, files: StackFiles, write_some: dict[str, int]):
    queries = QueryEngine(engine, files=files)
    queries.warm()
    until(lambda: files._child is not None)
    queries.close()
    assert files._child is not None
    assert files._child.poll() is not None
