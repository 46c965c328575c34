"""GIVEN days in the lake WHEN trees, graphs, series and movers are asked THEN DuckDB's answers are PostgreSQL's."""

import pytest

from storage.query.shapes.call_graph import CallGraphQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.flame_diff import FlameDiffQuestion
from storage.query.shapes.movers import MoversQuestion
from storage.query.shapes.series import SeriesQuestion
from tests.small_lake import WHOLE, Drawn, Store, minutes

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("without_cells")]

FIRST, SECOND = minutes(0, 1440), minutes(1440, WHOLE)
VISITS = [
    Drawn(
        119 * n,
        groups=(("nginx", "red", (9, 2, 1, 0, 0, 3)), ("db", "", (1, 0, 0, 9 if n < 13 else 90, 2, 0))),
    )
    for n in range(1, 36)
]


@pytest.mark.slow
def test_shapes_are_answered_alike(store: Store):
    store.ingest(VISITS)
    store.export()
    whole = minutes(30, WHOLE)
    inverted = store.check(FlameTreeQuestion(whole, inverted=True, by=("application",)))
    assert inverted.flame.labels
    store.check(FlameDiffQuestion(SECOND, FIRST))
    assert store.check(CallGraphQuestion(whole, nodes=3)).edges
    series = store.check(SeriesQuestion(whole, ("application",), step_s=3 * 3600))
    assert series.rows
    assert series.steps[0].partial
    assert sum(step.visits_drawn for step in series.steps) == len(VISITS)
    nothing = minutes(0, WHOLE, select='{application="nosuch"}')
    unseen = store.check(SeriesQuestion(nothing, step_s=86_400)).whole
    assert any(point.core_seconds is not None and point.core_seconds.hi > 0 for point in unseen)
    moved = store.check(MoversQuestion(SECOND, FIRST, ("application",)))
    assert moved.movers


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("by", [("function",), ("file",)])
def test_series_that_are_summed_by_stack_are_answered_alike(store: Store, by: tuple[str, ...], *, own: bool):
    store.ingest(VISITS)
    store.export()
    series = store.check(SeriesQuestion(minutes(30, WHOLE), by, step_s=3 * 3600, own=own))
    assert len(series.rows) > 1
    assert any(point.core_seconds is not None for point in series.rows[0].points)
    narrowed = minutes(30, WHOLE, select='{application="db"}', focus="work")
    assert store.check(SeriesQuestion(narrowed, by, step_s=3 * 3600, own=own)).rows
