"""GIVEN days whose facts PostgreSQL has dropped WHEN it is asked about them THEN segments answer, alone and together with it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from services.configuration.settings import Settings
from services.queries.engine_choice import EngineChoice
from services.queries.local_queries import table
from services.queries.query_backend import open_backend
from services.views.terminal import totals_line
from storage import identity, partitions
from storage.dictionary_sweep.sweep import sweep
from storage.errors import BadSelection, UnknownCampaign
from storage.query.answers.answer import as_document
from storage.query.answers.totals import Span
from storage.query.facts import visit_scan
from storage.query.query_engine import QueryEngine
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.reliability import ReliabilityQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.retention.history import drop_cells, drop_visits
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.daily import roll_up_days
from storage.schema import capture
from storage.segments.location import Lake
from storage.segments.tiers import SegmentTier
from tests.access_paths import BY_CELLS, BY_VISITS
from tests.answer_comparison import differences
from tests.fact_writer import FactWriter
from tests.integration.lake.test_lake_answers import SOME, a_visit
from tests.small_lake import DAY, DAYS, LATER, MIDNIGHT, WHOLE, Store, minutes

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUESTIONS = (
    TableQuestion(minutes(0, WHOLE), ("function",), Page()),
    TableQuestion(minutes(700, 4000), ("function",), Page(sort=Sort.TOTAL_DESC)),
    TableQuestion(minutes(0, WHOLE), ("application", "machine"), Page()),
    TableQuestion(minutes(0, WHOLE, select='{colour="red"}'), ("datacenter", "function"), Page()),
    TableQuestion(minutes(0, WHOLE, select='{application="nosuch"}'), ("function",), Page()),
    TableQuestion(minutes(100, 200), ("function",), Page()),
    TableQuestion(minutes(2900, WHOLE), ("function",), Page()),
    FlameTreeQuestion(minutes(0, WHOLE, focus="work"), 100),
    LabelsQuestion(minutes(0, WHOLE)),
    SeriesQuestion(minutes(0, WHOLE), step_s=86_400),
    SeriesQuestion(minutes(30, 4000), ("application",), step_s=7200),
    DiffQuestion(minutes(2880, WHOLE), minutes(0, 1440), ("function",)),
    DiffQuestion(minutes(1440, WHOLE), minutes(0, 1440), ("function",)),
    ReliabilityQuestion(minutes(0, WHOLE), ("function",)),
)


@pytest.fixture
def tiered(store: Store, engine: Engine) -> Iterator[QueryEngine]:
    """PostgreSQL with the store's segments beside it."""
    made = QueryEngine(engine, older=lambda: SegmentTier(store.lake))
    made.planner = BY_VISITS
    yield made
    made.close()


def forget(store: Store, days: int, *, history: bool = False) -> None:
    """Drop the facts of the first days as retention does, with `history` also what is kept longer than facts."""
    before = DAY + timedelta(days=days)
    with store.engine.begin() as connection:
        partitions.ensure(connection, [before])
        partitions.drop(connection, before)
    if not history:
        return
    with store.engine.begin() as connection:
        drop_cells(connection, before)
        connection.execute(update(capture).values(blob=""))
    dropped = 1
    while dropped:
        with store.engine.begin() as connection:
            dropped = drop_visits(connection, before)
    assert sweep(store.engine) is not None
    sweep(store.engine)


@pytest.mark.usefixtures("without_cells")
@pytest.mark.parametrize(("days", "history"), [(1, True), (2, False), (3, True)])
def test_answers_are_those_of_when_postgresql_had_all(
    store: Store, tiered: QueryEngine, days: int, history: bool
):
    store.ingest(SOME)
    store.export()
    wanted = [store.postgres.ask(question) for question in QUESTIONS]
    forget(store, days, history=history)
    for question, answer in zip(QUESTIONS, wanted, strict=True):
        different = differences(answer, tiered.ask(question))
        assert not different, (question, different[:5])


@pytest.mark.usefixtures("without_cells")
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    visits=st.lists(a_visit, min_size=1, max_size=25),
    start=st.integers(0, 2 * 1440),
    length=st.integers(30, WHOLE),
    days=st.integers(1, 3),
    by=st.sampled_from([("function",), ("application", "machine"), ("version",)]),
    select=st.sampled_from(["{}", '{application!="nginx"}', '{datacenter="east"}']),
)
def test_any_store_is_answered_alike(  # noqa: PLR0917 - a drawn one each
    store: Store, tiered: QueryEngine, visits: Any, start: int, length: int, days: int, by: Any, select: str
):
    with store.engine.begin() as connection:
        partitions.ensure(connection, [DAY + timedelta(days=n) for n in range(DAYS)])
    campaign = f"c{uuid4().hex}"
    store.ingest(visits, campaign)
    store.export()
    selection = minutes(start, min(start + length, WHOLE), campaign=campaign, select=select)
    questions = (TableQuestion(selection, by, Page()), FlameTreeQuestion(selection, 100))
    wanted = [store.postgres.ask(question) for question in questions]
    forget(store, days)
    for question, answer in zip(questions, wanted, strict=True):
        assert not differences(answer, tiered.ask(question))


def test_cells_answer_as_long_as_they_are_kept_and_segments_what_is_older(store: Store, tiered: QueryEngine):
    tiered.planner = BY_CELLS
    store.postgres.planner = BY_CELLS
    store.ingest(SOME)
    writer = RollupWriter(store.engine)
    while writer.rollup().entries:
        pass
    roll_up_days(store.engine, LATER + timedelta(days=1))
    store.export()
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    wanted = store.postgres.ask(question)
    forget(store, 2)
    kept = tiered.ask(question)
    assert (kept.totals.path, wanted.totals.path) == ("cells", "cells")
    assert not differences(replace(wanted, totals=kept.totals), kept)
    forget(store, 2, history=True)
    older = tiered.ask(question)
    assert older.totals.path == "chunks"
    different = [text.split(":")[0] for text in differences(wanted, older)]
    known = ("machines", "path", "_samples")
    assert [name for name in different if not name.endswith(known)] == []


@pytest.mark.usefixtures("without_cells")
def test_a_function_that_got_a_name_since_has_it_in_old_days_too(store: Store, tiered: QueryEngine):
    with store.engine.begin() as connection:
        write = FactWriter(connection)
        nameless, named = write.function("lib.so+0x10", status=1, start=("ab", 16)), write.function("crc32")
        stack, another = write.stack([nameless]), write.stack([named])
        write.profile(write.visit("m", MIDNIGHT + timedelta(hours=1)), {stack: 2})
        write.profile(write.visit("m", MIDNIGHT + timedelta(hours=30)), {stack: 2, another: 1})
    store.export(0, 1)
    forget(store, 1)
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    assert len(tiered.ask(question).rows) == 2
    with store.engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)
    (row,) = tiered.ask(question).rows
    assert (row.key["function"], row.self_samples) == ("crc32", 5)


@pytest.mark.usefixtures("without_cells")
def test_what_neither_has_is_said(store: Store, tiered: QueryEngine):
    def missing(begin: int, end: int) -> Span:
        times = [datetime.combine(DAY + timedelta(days=day), time(), UTC) for day in (begin, end)]
        return Span(*[moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in times])

    store.ingest(SOME)
    store.export(1)
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    assert store.postgres.ask(question).totals.missing == ()
    forget(store, 2)
    alone, beside = store.postgres.ask(question), tiered.ask(question)
    assert alone.totals.missing == (missing(0, 2),)
    assert beside.totals.missing == (missing(0, 1),)
    assert alone.totals.samples < beside.totals.samples
    later = TableQuestion(minutes(2 * 1440, WHOLE), ("function",), Page())
    assert tiered.ask(later).totals.missing == ()


@pytest.mark.usefixtures("without_cells")
def test_of_too_much_a_part_of_the_visits_of_both_is_read(
    store: Store, tiered: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    store.ingest(SOME)
    store.export()
    forget(store, 2)
    monkeypatch.setattr(visit_scan, "MAX_FACTS", 100)
    totals = tiered.ask(TableQuestion(minutes(0, WHOLE), ("function",), Page())).totals
    assert totals.approximate
    assert 0 < totals.visits < len(SOME)


@pytest.mark.usefixtures("without_cells")
def test_days_of_another_database_are_not_mixed_in(store: Store, tiered: QueryEngine):
    store.ingest(SOME)
    store.export()
    forget(store, 1)
    with store.engine.begin() as connection:
        identity.renew(connection)
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    assert not differences(store.postgres.ask(question), tiered.ask(question))
    assert tiered.ask(question).totals.missing


@pytest.mark.usefixtures("without_cells")
def test_labels_of_users_and_mistakes(store: Store, tiered: QueryEngine):
    store.ingest(SOME)
    store.export()
    forget(store, 1)
    for question in (
        TableQuestion(minutes(0, WHOLE, select='{nothing="x"}'), ("function",), Page()),
        TableQuestion(minutes(0, WHOLE), ("nothing",), Page()),
        TableQuestion(minutes(0, WHOLE, campaign="none"), ("function",), Page()),
        TableQuestion(minutes(0, WHOLE, event="llc-misses"), ("function",), Page()),
    ):
        with pytest.raises((BadSelection, UnknownCampaign)):
            tiered.ask(question)


def test_commands_take_them_by_themselves_and_say_what_is_missing(store: Store):
    store.ingest(SOME)
    store.export()
    forget(store, 2)
    found = {}
    for lake in (store.lake.root, None):
        settings = Settings(
            database_url=store.engine.url.render_as_string(hide_password=False), lake_url=lake
        )
        with open_backend(settings, EngineChoice.POSTGRES) as queries:
            found[lake] = table(queries, minutes(0, WHOLE), ("datacenter", "function"), 10)
    whole, part = (as_document(found[lake].totals) for lake in (store.lake.root, None))
    assert whole["missing"] == []
    assert part["missing"] == [{"begin": "2026-11-10T00:00:00Z", "end": "2026-11-12T00:00:00Z"}]
    assert whole["samples"] > part["samples"] > 0
    assert "no data is stored for 2026-11-10T00:00:00Z to 2026-11-12T00:00:00Z" in str(
        totals_line(found[None])
    )


def test_nothing_is_opened_while_postgresql_has_what_is_asked(engine: Engine, tmp_path: Path):
    opened = []

    def older() -> SegmentTier:
        opened.append(1)
        return SegmentTier(Lake(str(tmp_path)))

    queries = QueryEngine(engine, older=older)
    with engine.begin() as connection:
        partitions.ensure(connection, [DAY])
    try:
        queries.ask(TableQuestion(minutes(0, WHOLE), ("function",), Page()))
        assert not opened
        queries.ask(TableQuestion(minutes(-10, WHOLE), ("function",), Page()))
        assert opened
    finally:
        queries.close()
