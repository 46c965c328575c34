"""GIVEN visits of two campaigns that counted, or could not, WHEN ratios are asked THEN each is of the asked visits alone."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, insert, update

from storage.errors import BadSelection
from storage.query.models.ratios import RatioQuestion
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.schema import capture_counter, visit
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOUR = Selection(NOON, NOON + timedelta(hours=1))
MACHINES = {"a": 10, "b": 30}
WATCHED_S, WINDOW_S = 1.0, 2.0


def count(
    connection: Connection, visit_id: UUID, name: str, *, value: float | None, status: str = "ok"
) -> None:
    connection.execute(
        insert(capture_counter).values(
            visit_id=visit_id, reading=0, name=name, day=NOON.date(), cpus=4, application=0, cgroup="",
            status=status, errno=0 if status == "ok" else 16, value=None if value is None else int(value),
            scaled=value, unit="count", source="", time_enabled_ns=1, time_running_ns=1,
        )
    )  # fmt: skip


def visits(connection: Connection, campaign: str, *, counts: bool) -> None:
    """Twelve of each datacenter, of which half of the window was watched for samples."""
    drawn = Campaign(connection, MACHINES, campaign)
    for minute in range(12):
        for datacenter in MACHINES:
            seen = drawn.answer(NOON + timedelta(minutes=5 * minute), datacenter, seconds=WATCHED_S)
            connection.execute(update(visit).where(visit.c.visit_id == seen.id).values(seconds=WINDOW_S))
            if counts:
                count(connection, seen.id, "cycles", value=600.0)
                count(connection, seen.id, "instructions", value=200.0)
            else:
                count(connection, seen.id, "cycles", value=None, status="busy")


@pytest.fixture
def queries(engine: Engine) -> QueryEngine:
    with engine.begin() as connection:
        visits(connection, "fleet", counts=True)
        visits(connection, "deep", counts=False)
    return QueryEngine(engine)


def test_totals_are_of_the_time_that_weights_are_of(queries: QueryEngine):
    (row,) = queries.ask(RatioQuestion(HOUR, "cpi", ())).rows
    assert row.ratio is not None
    assert row.ratio.value == pytest.approx(3.0)
    # 300 cycles a second on each of 40 machines, for the hour.
    assert row.numerator == pytest.approx(300 * 40 * 3600, rel=0.01)


def test_another_campaigns_failures_are_not_told(queries: QueryEngine):
    assert queries.ask(RatioQuestion(HOUR, "cpi", ())).inputs.missing == ()
    deep = Selection(HOUR.start, HOUR.end, campaign="deep")
    answer = queries.ask(RatioQuestion(deep, "cpi", ()))
    assert answer.because is not None
    (failure,) = answer.inputs.missing
    assert (failure.name, failure.status, failure.visits) == ("cycles", "busy", 24)


def test_failures_are_those_of_the_machines_that_are_asked_for(queries: QueryEngine):
    deep = Selection(HOUR.start, HOUR.end, campaign="deep", matchers=parse_matchers('{datacenter="a"}'))
    answer = queries.ask(RatioQuestion(deep, "cpi", ()))
    assert [failure.visits for failure in answer.inputs.missing] == [12]
    assert answer.inputs.visits == 12


def test_machines_are_chosen_by_every_label(queries: QueryEngine):
    for select, left in (
        ('{datacenter!="a"}', 12),
        ('{machine=~"b-.*"}', 12),
        ('{cluster=""}', 24),
        ('{kernel="6.1"}', 0),
        ('{platform=~".*",datacenter="b"}', 12),
    ):
        asked = Selection(HOUR.start, HOUR.end, matchers=parse_matchers(select))
        assert queries.ask(RatioQuestion(asked, "cpi", ())).inputs.visits == left, select


def test_what_weights_cannot_be_of_is_refused(queries: QueryEngine):
    with pytest.raises(BadSelection, match="watched"):
        queries.ask(RatioQuestion(Selection(HOUR.start, HOUR.end, event="page-faults"), "cpi", ()))
