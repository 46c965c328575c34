"""GIVEN visits that ingested WHEN a series is asked for of what none of a step's visits saw THEN the step bounds it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from storage.query.answers.series import PointRow, SeriesRows
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.series import SeriesQuestion
from tests.access_paths import BY_CELLS, BY_VISITS, planned
from tests.integration.test_query_zero_counts import MIDNIGHT, PERIOD, hours
from tests.rollup_store import RolledStore, Seen
from tests.sampled_campaign import Campaign

pytestmark = [pytest.mark.integration, pytest.mark.slow]

HOUR_S = 3600
EACH = 30
"""Visits of an hour."""
BOUND = 1 - 0.025 ** (1 / EACH)
"""What a row that so many visits alike did not see can be of what they saw."""


@pytest.fixture
def ingested(engine: Engine) -> None:
    """Visits of the hours 1 and 2 saw one application each, those of hour 2 twice as much; those of hour 5 saw another."""
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 100})
        stack = fleet.write.stack([fleet.write.function("main", binary="app")])
        for hour, samples, application in ((1, 100, "app"), (2, 200, "app"), (5, 100, "batch")):
            for n in range(EACH):
                at = MIDNIGHT + timedelta(hours=hour, minutes=2 * n)
                visit = fleet.answer(at, "east", utilisation=0.3, seconds=5.0)
                labels = {"application": application}
                fleet.write.profile(visit, {stack: samples}, period=PERIOD, labels=labels)


def asked(queries: QueryEngine, selection: Selection, by: tuple[str, ...] = ()) -> SeriesRows:
    return queries.ask(SeriesQuestion(selection, by, step_s=HOUR_S))


def most(points: Sequence[PointRow]) -> list[float | None]:
    """How much there can be at most, of points of which nothing was seen."""
    for point in points:
        assert (point.units, point.share) == (0, None)
        assert point.core_seconds is None or (point.core_seconds.value, point.core_seconds.lo) == (0, 0)
    return [None if point.core_seconds is None else point.core_seconds.hi for point in points]


@pytest.mark.usefixtures("ingested")
def test_steps_without_a_sample_are_bounded_by_what_their_visits_saw_besides(queries: QueryEngine):
    everything = asked(queries, hours(0, 6)).whole
    expected = [
        point.core_seconds and pytest.approx(BOUND * point.core_seconds.value) for point in everything
    ]
    assert [bound is None for bound in expected] == [True, False, False, True, True, False]
    found = asked(queries, hours(0, 6, select='{application="nosuch"}'), ("function",))
    assert most(found.whole) == expected
    assert found.rows == ()


@pytest.mark.usefixtures("ingested")
def test_a_step_says_it_between_steps_that_were_seen(queries: QueryEngine):
    series = asked(queries, hours(0, 6, select='{application="app"}'), ("function",))
    everything = asked(queries, hours(0, 6)).whole
    bound = BOUND * everything[5].core_seconds.value
    for line in (series.whole, series.rows[0].points, series.remainder):
        assert most(line[3:]) == [None, None, pytest.approx(bound)]
    assert [point.share for point in series.whole] == [None, 1, 1, None, None, None]
    assert not series.whole[5].low_confidence


@pytest.mark.usefixtures("ingested")
def test_of_frames_that_labels_leave_none_of_the_labels_are_bounded(queries: QueryEngine):
    of_both = hours(0, 6, select='{application="app", function="nosuch"}')
    alone = hours(0, 6, select='{application="app"}')
    both, labels = (asked(queries, selection).whole for selection in (of_both, alone))
    assert both[5] == labels[5]
    assert both[1].core_seconds.hi == pytest.approx(BOUND * labels[1].core_seconds.value)


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize("select", ['{datacenter="nosuch"}', '{application="nosuch", machine="nosuch"}'])
def test_visits_to_other_machines_say_nothing_of_a_step(queries: QueryEngine, select: str):
    assert most(asked(queries, hours(0, 6, select=select)).whole) == [None] * 6


def test_a_step_of_which_too_little_has_ingested_has_no_bound(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 100})
        stack = fleet.write.stack([fleet.write.function("main", binary="app")])
        for hour in range(3):
            for n in range(EACH):
                at = MIDNIGHT + timedelta(hours=hour, minutes=2 * n)
                if hour == 2:
                    fleet.draw(at, "east")
                    continue
                visit = fleet.answer(at, "east", utilisation=0.3, seconds=5.0)
                fleet.write.profile(visit, {stack: 100}, period=PERIOD, labels={"application": "app"})
    series = asked(queries, hours(0, 3, select='{application="nosuch"}'))
    assert [step.too_few_ingested for step in series.steps] == [False, False, True]
    assert [bound is None for bound in most(series.whole)] == [False, False, True]


def test_visits_by_hand_bound_nothing(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = Campaign(connection, {"east": 100}).write
        visit = write.visit("m", MIDNIGHT, campaign_name="hand")
        write.profile(visit, {write.stack([write.function("main")]): 3}, period=10)
    selection = hours(0, 1, select='{application="nosuch"}', campaign="hand")
    assert most(asked(queries, selection).whole) == [None]


@pytest.mark.usefixtures("ingested")
def test_an_answer_says_it_in_cores_and_no_share(queries: QueryEngine):
    selection = hours(0, 6, select='{application="nosuch"}')
    points = asked(queries, selection).whole
    assert [point.cores is None for point in points] == [True, False, False, True, True, False]
    for point in (points[1], points[2], points[5]):
        assert (point.share, point.lo, point.hi, point.low_confidence) == (None, None, None, False)
        assert (point.cores.value, point.cores.lo) == (0, 0)
        assert point.cores.hi == pytest.approx(point.core_seconds.hi / HOUR_S)
        assert point.cores.hi > 0


@pytest.mark.parametrize("application", ["b", "nosuch"])
def test_cells_bound_steps_as_visits_do(engine: Engine, queries: QueryEngine, application: str):
    queries.planner = BY_CELLS
    store = RolledStore(
        engine,
        "fleet",
        sizes={"east": 100, "west": 40},
        functions=lambda write: [write.function("main", binary="prog")],
        stacks=((0,),),
        midnight=MIDNIGHT,
    )
    store.ingest(
        [
            Seen(
                minute=7 * n,
                stratum="west" if n % 3 else "east",
                utilisation=0.1,
                seconds=5.0,
                facts=(("ab"[n >= 40], 0, 10 + n % 7),),
            )
            for n in range(60)
        ]
    )
    store.rollup(100)
    selection = hours(0, 8, select=f'{{application="{application}"}}')
    found = asked(queries, selection)
    with planned(queries, BY_VISITS):
        expected = asked(queries, selection)
    assert expected.totals.path == "chunks"
    assert found.totals.path == ("cells" if application == "b" else "chunks")
    unseen = [n for n in range(8) if application == "nosuch" or n < 4]
    bounds, wanted = (most([answer.whole[n] for n in unseen]) for answer in (found, expected))
    assert [bound is None for bound in bounds] == [n > 6 for n in unseen]
    assert bounds == [bound if bound is None else pytest.approx(bound) for bound in wanted]
