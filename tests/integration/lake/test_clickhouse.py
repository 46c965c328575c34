"""GIVEN days in PostgreSQL and in the lake WHEN ClickHouse runs the SQL over the lake's files THEN the answers are PostgreSQL's."""

from collections.abc import Iterator

import pytest

from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.segments.duck import DEFAULT
from storage.segments.lake_engine import LakeEngine
from tests.integration.lake.test_lake_answers import SOME
from tests.small_lake import WHOLE, Store, minutes

pytest.importorskip("chdb", reason="rare: chdb is not installed; `make test-engines` installs and uses it")
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("without_cells")]


@pytest.fixture
def clicked(store: Store) -> Iterator[Store]:
    """A store whose lake is read by an embedded ClickHouse."""
    from benchmarks.lake.clickhouse import ClickHouseStatements

    store.duckdb.close()
    store.duckdb = LakeEngine(store.lake, DEFAULT, ClickHouseStatements)
    store.ingest(SOME)
    store.export()
    yield store
    store.duckdb.close()


@pytest.mark.parametrize(
    "question",
    [
        TableQuestion(minutes(0, WHOLE), ("function",), Page()),
        TableQuestion(
            minutes(100, 4000, select='{application="nginx"}'), ("application", "datacenter"), Page()
        ),
        SeriesQuestion(minutes(0, WHOLE), ("application",), step_s=86_400),
    ],
    ids=["fleet", "labels", "series"],
)
def test_answers_are_those_of_postgresql(clicked: Store, question: TableQuestion | SeriesQuestion):
    answer = clicked.check(question)
    if isinstance(question, TableQuestion):
        assert all(row.self_lo is not None for row in answer.rows)
