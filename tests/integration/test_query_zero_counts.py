"""GIVEN visits that ingested WHEN what none of them saw is asked for THEN the answer bounds it, and never says a certain no."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.callers import CallersQuestion
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.table import TableQuestion
from storage.query.subject import Subject
from tests.access_paths import BY_CELLS, BY_VISITS, planned
from tests.rollup_store import RolledStore, Seen
from tests.sampled_campaign import Campaign

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)
PERIOD = 10_000_000
VISITS = 60


def hours(first: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(hours=h)).isoformat() for h in (first, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


@pytest.fixture
def ingested(engine: Engine) -> None:
    """Sixty visits of two hours, each with a hundred samples of one application; another is known by a day that is over."""
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 100})
        stack = fleet.write.stack([fleet.write.function("main", binary="app")])
        for n in range(VISITS):
            at = MIDNIGHT + timedelta(minutes=60 + 2 * n)
            visit = fleet.answer(at, "east", utilisation=0.3, seconds=5.0)
            fleet.write.profile(visit, {stack: 100}, period=PERIOD, labels={"application": "app"})
        visit = fleet.answer(MIDNIGHT + timedelta(hours=20), "east", utilisation=0.3, seconds=5.0)
        fleet.write.profile(visit, {stack: 1}, period=PERIOD, labels={"application": "legacy"})


@pytest.mark.parametrize("application", ["nosuch", "legacy"])
@pytest.mark.usefixtures("ingested")
def test_an_application_that_no_visit_saw_is_bounded_as_a_function_is(queries: QueryEngine, application: str):
    everything = queries.ask(TableQuestion(hours(1, 3))).totals
    function = queries.ask(TableQuestion(hours(1, 3, select='{function="nosuch"}'))).totals.estimate
    selection = hours(1, 3, select=f'{{application="{application}"}}')
    for question in (
        TableQuestion(selection),
        TableQuestion(selection, ("application",)),
        FlameTreeQuestion(selection, 100),
    ):
        found = queries.ask(question).totals
        assert (found.samples, found.visits_ingested) == (0, VISITS)
        assert (found.estimate.value, found.estimate.lo) == (0, 0)
        assert found.estimate.hi == pytest.approx(function.hi)
        assert found.estimate.hi == pytest.approx((1 - 0.025 ** (1 / VISITS)) * everything.estimate.value)


@pytest.mark.usefixtures("ingested")
def test_of_both_the_application_bounds_nothing_that_the_function_would(queries: QueryEngine):
    both = hours(1, 3, select='{application="nosuch", function="main"}')
    alone = hours(1, 3, select='{application="nosuch"}')
    assert (
        queries.ask(TableQuestion(both)).totals.estimate == queries.ask(TableQuestion(alone)).totals.estimate
    )


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize("label", ["datacenter", "platform", "cluster", "kernel", "machine"])
def test_visits_to_other_machines_bound_nothing(queries: QueryEngine, label: str):
    """Of a datacenter that is cut off nobody saw anything; that says nothing of how busy it is."""
    for select in (f'{{{label}="nosuch"}}', f'{{application="app", {label}="nosuch"}}'):
        found = queries.ask(TableQuestion(hours(1, 3, select=select))).totals
        assert (found.samples, found.estimate) == (0, None)


@pytest.mark.usefixtures("ingested")
def test_where_nothing_at_all_was_seen_nothing_is_said(queries: QueryEngine):
    for select in ("{}", '{application="app"}'):
        found = queries.ask(TableQuestion(hours(5, 6, select=select))).totals
        assert (found.samples, found.estimate) == (0, None)


@pytest.mark.usefixtures("ingested")
def test_a_function_that_nobody_saw_called_is_bounded(queries: QueryEngine):
    found = queries.ask(
        CallersQuestion(hours(1, 3), Subject(matchers=parse_matchers('{function="nosuch"}')))
    ).itself
    assert found.total == 0
    bound = 1 - 0.025 ** (1 / VISITS)
    for lo, hi, core_seconds in (
        (found.self_lo, found.self_hi, found.self_core_seconds),
        (found.total_lo, found.total_hi, found.total_core_seconds),
    ):
        assert (lo, hi) == (0, pytest.approx(bound))
        assert core_seconds.hi > 0


@pytest.mark.usefixtures("ingested")
def test_a_side_of_a_difference_that_nobody_saw_is_bounded(queries: QueryEngine):
    now, base = hours(1, 3, select='{application="app"}'), hours(1, 3, select='{application="legacy"}')
    (row,) = queries.ask(DiffQuestion(now, base)).rows
    assert row.b_cores is not None
    assert (row.b_cores.value, row.b_cores.lo) == (0, 0)
    assert row.b_cores.hi > 0


def test_cells_bound_it_as_visits_do(engine: Engine, queries: QueryEngine):
    queries.planner = BY_CELLS
    store = RolledStore(
        engine,
        "fleet",
        sizes={"east": 100, "west": 40},
        functions=lambda write: [write.function("main", binary="prog")],
        stacks=((0,),),
        midnight=MIDNIGHT,
    )
    visits = [
        Seen(
            minute=7 * n,
            stratum="west" if n % 3 else "east",
            utilisation=0.1,
            seconds=5.0,
            facts=(("ab"[n >= 40], 0, 10 + n % 7),),
        )
        for n in range(60)
    ]
    store.ingest(visits)
    store.rollup(100)
    for select in ('{application="b"}', '{application="nosuch"}'):
        selection = hours(0, 4, select=select)
        for question in (TableQuestion(selection), TableQuestion(selection, ("application",))):
            found = queries.ask(question).totals
            with planned(queries, BY_VISITS):
                expected = queries.ask(question).totals
            assert expected.path == "chunks"
            assert found.samples == expected.samples == 0
            assert found.estimate.hi > 0
            assert found.estimate.hi == pytest.approx(expected.estimate.hi)
