"""GIVEN visits of two days, of which the second waits to be ingested WHEN both are queried THEN rates are those of the first."""

from dataclasses import astuple
from datetime import timedelta
from itertools import chain

import pytest
from sqlalchemy import Engine

from services.api.formats.stack_profile import span
from services.views.measures import Measure, figure
from storage.query.answers.table import TableAnswer
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.shared_code import SharedCodeQuestion
from storage.query.shapes.table import TableQuestion
from tests.integration.test_query_estimates import MIDNIGHT, SIZES, ingest, minutes
from tests.sampled_campaign import Campaign
from tests.weights_oracle import Drawn

pytestmark = pytest.mark.integration

DAY_S = 86_400
INGESTED, BOTH = minutes(0, 1440), minutes(0, 2 * 1440)


@pytest.fixture(autouse=True)
def waiting(engine: Engine) -> None:
    """Visits of each hour of two days; those of the second have not ingested."""
    hours = [
        [Drawn(60 * hour, "east", 0.5, 5.0, (hour, 9, 2)), Drawn(60 * hour + 1, "west", 0.3, 5.0, (4, 1, 0))]
        for hour in range(24)
    ]
    ingest(engine, list(chain.from_iterable(hours)))
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES)
        for hour in range(24, 48):
            fleet.draw(MIDNIGHT + timedelta(hours=hour), "east")


def table(queries: QueryEngine, selection: Selection) -> TableAnswer:
    return queries.ask(TableQuestion(selection, ("function",), Page()))


def test_cores_are_those_busy_on_the_day_that_ingested(queries: QueryEngine):
    alone, both = table(queries, INGESTED), table(queries, BOTH)
    totals = both.totals
    assert (totals.covered_seconds, totals.estimated_seconds) == (2 * DAY_S, DAY_S)
    assert totals.uncovered_share == pytest.approx(0.5)
    assert astuple(totals.core_seconds) == pytest.approx(astuple(alone.totals.core_seconds))
    assert astuple(totals.cores) == pytest.approx(astuple(alone.totals.cores))
    assert totals.cores.value == pytest.approx(totals.core_seconds.value / DAY_S)
    for one, other in zip(both.rows, alone.rows, strict=True):
        cores, wanted = (
            figure(row, "self", Measure.CORES, answer, None) for row, answer in ((one, both), (other, alone))
        )
        assert (cores.value, cores.lo, cores.hi) == pytest.approx((wanted.value, wanted.lo, wanted.hi))


@pytest.mark.slow
def test_cores_of_a_step_are_those_of_its_days_that_ingested(queries: QueryEngine):
    alone, both = (
        queries.ask(SeriesQuestion(asked, ("function",), step_s=step_s))
        for asked, step_s in ((INGESTED, DAY_S), (BOTH, 7 * DAY_S))
    )
    assert [step.estimated_seconds for step in both.steps] == [DAY_S]
    for one, other in zip(both.lines, alone.lines, strict=True):
        assert astuple(one.points[0].cores) == pytest.approx(astuple(other.points[0].cores))
    days = queries.ask(SeriesQuestion(BOTH, step_s=DAY_S))
    assert [(step.covered_seconds, step.estimated_seconds) for step in days.steps] == [
        (DAY_S, DAY_S),
        (DAY_S, 0),
    ]
    assert [point.cores is None for point in days.whole] == [False, True]


def test_costs_and_differences_are_of_the_day_that_ingested(queries: QueryEngine):
    rows = []
    for selection in (INGESTED, BOTH):
        question = SharedCodeQuestion(
            selection,
            "function",
            own=True,
            cold=1.0,
            applications=1,
            limit=10,
            saving=0.5,
            price_per_core_hour=0.04,
        )
        rows.append(queries.ask(question).rows)
    for one, other in zip(*rows, strict=True):
        for mine, same in ((one.cost, other.cost), (one.saved, other.saved)):
            for a, b in ((mine.cores, same.cores), (mine.money_a_year, same.money_a_year)):
                assert (a.value, a.lo, a.hi) == pytest.approx((b.value, b.lo, b.hi))
    found = queries.ask(DiffQuestion(BOTH, INGESTED, ("function",)))
    for row in found.rows:
        assert row.a_cores is not None
        assert row.b_cores is not None
        assert row.cores is not None
        assert astuple(row.a_cores) == pytest.approx(astuple(row.b_cores))
        assert row.cores.value == pytest.approx(0, abs=1e-9)


def test_a_profile_lasts_as_long_as_what_it_is_of(queries: QueryEngine):
    totals = queries.ask(TableQuestion(BOTH, ("function",), Page())).totals
    assert span(BOTH, totals)[1] == DAY_S * 10**9


def test_where_nothing_ingested_there_are_no_cores(queries: QueryEngine):
    totals = table(queries, minutes(1440, 2 * 1440)).totals
    assert totals.covered_seconds == DAY_S
    assert (totals.estimated_seconds, totals.cores) == (0, None)
