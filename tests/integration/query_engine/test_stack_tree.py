"""The tree of stacks the engine keeps: ingested stacks are in it, and it is built again."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.build import build
from storage.query.stacks.files import StackFiles
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import NOON, around_noon, until_built

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_stack_that_ingested_a_moment_ago_is_in_the_answer(engine: Engine, queries: QueryEngine):
    queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    for round_ in range(3):
        with engine.begin() as connection:
            write = FactWriter(connection)
            new = write.stack([write.function(f"f{round_}")])
            write.profile(write.visit("m1", NOON), {new: 1})
        assert len(queries.ask(TableQuestion(around_noon(), ("function",), Page())).rows) == round_ + 1


def test_answers_add_up_while_others_ingest_name_and_rebuild(engine: Engine, files: StackFiles):
    queries = QueryEngine(engine, files=files)
    with engine.begin() as connection:
        write = FactWriter(connection)
        functions = [write.function(f"f{i}", status=1, start=("k", i)) for i in range(8)]
        named = [write.function(f"named{i}", file=f"{i % 3}.c") for i in range(8)]
    stop = threading.Event()

    def ingest() -> int:
        for round_ in range(8):
            with engine.begin() as connection:
                write = FactWriter(connection)
                stacks = [write.stack(functions[: 1 + (round_ + i) % 8] + functions[:i]) for i in range(4)]
                write.profile(write.visit(f"m{round_}", NOON), dict.fromkeys(stacks, 1 + round_))
                write.alias(functions[round_], named[round_])
            build(engine, files, queries._source.file.token)
            queries.warm()
        return 4 * sum(range(1, 9))

    def ask() -> int:
        asked = 0
        while not stop.is_set():
            for by in ("function", "file", "machine"):
                answer = queries.ask(TableQuestion(around_noon(), (by,), Page(limit=3)))
                shown_ = sum(row.self for row in answer.rows)
                assert shown_ + answer.remainder.self == answer.totals.units
            flame = queries.ask(FlameTreeQuestion(around_noon(), 1000)).flame
            assert flame.self.sum() == flame.total[0]
            asked += 1
        return asked

    with ThreadPoolExecutor(4) as pool:
        askers = [pool.submit(ask) for _ in range(3)]
        ingested = pool.submit(ingest)
        try:
            samples = ingested.result()
        finally:
            stop.set()
        assert all(asker.result() > 0 for asker in askers)
    answer = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert answer.totals.samples == samples
    assert {row.key["function"] for row in answer.rows} <= {f"named{i}" for i in range(8)}
    queries.close()


def test_the_base_is_built_again_when_the_overlay_has_grown(
    engine: Engine, files: StackFiles, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.query.query_engine._OVERLAY_LEAST", 3)
    queries = QueryEngine(engine, files=files)
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"f{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    queries.ask(FlameTreeQuestion(around_noon(), 100))
    assert queries._source.stacks.overlay_nodes == 5, "one question is not worth a base"
    queries.warm()
    until_built(queries)
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"g{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    before = queries.ask(FlameTreeQuestion(around_noon(), 100)).flame
    until_built(queries)
    assert queries._source.stacks.nodes == 11
    assert queries.ask(FlameTreeQuestion(around_noon(), 100)).flame.total.tolist() == before.total.tolist()
    queries.close()


def test_a_tree_that_cannot_be_built_is_tried_again_after_a_rest_that_doubles(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    now = 1000.0
    (tmp_path / "stacks").touch()  # no folder
    monkeypatch.setattr("storage.query.query_engine._OVERLAY_LEAST", 0)
    queries = QueryEngine(engine, files=StackFiles(tmp_path / "stacks"), clock=lambda: now)

    def failures() -> int:
        return sum("FileExistsError" in (record.exc_text or "") for record in caplog.records)

    tried = []
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"f{i}") for i in range(5)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    queries.warm()
    for seconds in (1000, 1059, 1060, 1179, 1180, 1419):
        with queries._building:
            now = float(seconds)
        before = failures()
        assert len(queries.ask(FlameTreeQuestion(around_noon(), 100)).flame.total) == 6
        with queries._building:
            tried += [seconds] * (failures() - before)
    assert tried == [1060, 1180]
    assert failures() == 3
    queries.close()
