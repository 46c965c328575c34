"""GIVEN days in PostgreSQL and in the lake WHEN Spark runs the SQL over the lake's files THEN the answers are PostgreSQL's."""

from collections.abc import Iterator

import pytest

from storage.errors import BadSelection
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.segments.duck import Limits
from storage.segments.errors import LakeBusy, LakeUnavailable
from storage.segments.lake_engine import LakeEngine
from storage.segments.open_days import engine_of
from storage.segments.tiers import SegmentTier
from storage.snapshots import query_budget
from tests.access_paths import BY_VISITS
from tests.answer_comparison import differences
from tests.integration.lake.test_lake_answers import SOME
from tests.integration.lake.test_older_than_facts import forget
from tests.small_lake import WHOLE, Store, minutes

pytest.importorskip(
    "pyspark", reason="rare: the extra spark is not installed; `make test-engines` installs and uses it"
)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("without_cells"),
    pytest.mark.timeout(900),  # of which a busy machine takes minutes to start Java
]

MEMORY = Limits(memory_bytes=1 << 30)
LOCAL = "spark://local[2]"
QUESTIONS = (
    TableQuestion(minutes(0, WHOLE), ("function",), Page()),
    TableQuestion(minutes(100, 4000, select='{application=~"n.*"}'), ("application", "datacenter"), Page()),
    FlameTreeQuestion(minutes(0, WHOLE, focus="work"), 100),
    SeriesQuestion(minutes(0, WHOLE), ("application",), step_s=86_400),
)


@pytest.fixture(scope="module", autouse=True)
def spark() -> Iterator[None]:
    """Spark on two threads of this process's Java, which ends with the module's tests."""
    from storage.segments import spark as ours

    yield
    ours.stop()


@pytest.fixture
def sparked(store: Store) -> Iterator[Store]:
    """A store whose lake is read by Spark."""
    store.duckdb.close()
    store.duckdb = LakeEngine(store.lake, MEMORY, engine_of(LOCAL))
    store.ingest(SOME)
    store.export()
    return store


def test_answers_are_those_of_postgresql(sparked: Store):
    for question in QUESTIONS:
        sparked.check(question)


def test_times_older_than_facts_are_answered_by_it(sparked: Store):
    question = QUESTIONS[0]
    wanted = sparked.postgres.ask(question)
    forget(sparked, 2, history=True)
    queries = QueryEngine(
        sparked.engine,
        limits=query_budget.Limits(seconds=600.0),
        older=lambda: SegmentTier(sparked.lake, MEMORY, engine_of(LOCAL)),
    )
    queries.planner = BY_VISITS
    try:
        assert not differences(wanted, queries.ask(question))
    finally:
        queries.close()


def test_it_stops_when_an_answer_takes_too_long(sparked: Store):
    hurried = LakeEngine(sparked.lake, Limits(memory_bytes=1 << 30, timeout_s=0.01), engine_of(LOCAL))
    with pytest.raises(LakeBusy):
        hurried.ask(QUESTIONS[0])
    hurried.close()


def test_mistakes_of_users_are_theirs(sparked: Store):
    with pytest.raises(BadSelection):
        sparked.duckdb.ask(TableQuestion(minutes(0, WHOLE, select='{nothing="x"}'), ("function",), Page()))


def test_an_engine_that_there_is_not_is_named():
    with pytest.raises(LakeUnavailable, match="presto"):
        engine_of("presto://x")
