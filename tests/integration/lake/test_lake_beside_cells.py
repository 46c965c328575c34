"""GIVEN days merged into cells WHEN PostgreSQL answers from these THEN the lake, which has visits alone, says the same."""

from datetime import timedelta

import pytest

from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.daily import roll_up_days
from tests.access_paths import BY_CELLS
from tests.answer_comparison import differences
from tests.small_lake import LATER, WHOLE, Drawn, Store, minutes

pytestmark = pytest.mark.integration

SOME = [Drawn(119 * n, groups=(("nginx", "", (n, 2, 1, 0, 0, 3)),)) for n in range(1, 36)]
UNKNOWN_TO_CELLS = ("machines", "path", "_samples")
"""Cells count machines to a few percent, and no samples of rows."""


@pytest.mark.slow
def test_counts_estimates_and_intervals_are_those_of_cells(store: Store):
    store.postgres.planner = BY_CELLS
    store.ingest(SOME)
    writer = RollupWriter(store.engine)
    while writer.rollup().entries:
        pass
    roll_up_days(store.engine, LATER + timedelta(days=1))
    store.export()
    for by in (("function",), ("application",)):
        question = TableQuestion(minutes(0, WHOLE), by, Page())
        wanted, found = store.postgres.ask(question), store.duckdb.ask(question).answer
        assert wanted.totals.path == "cells"
        different = [text.split(":")[0] for text in differences(wanted, found)]
        assert [name for name in different if not name.endswith(UNKNOWN_TO_CELLS)] == []
        assert wanted.rows[0].total_lo is not None


@pytest.mark.slow
def test_a_series_by_hours_needs_no_cells_in_the_lake(store: Store):
    store.ingest(SOME)
    store.export()
    question = SeriesQuestion(minutes(0, WHOLE), ("function",), step_s=3600)
    assert not differences(store.postgres.ask(question), store.duckdb.ask(question).answer)
