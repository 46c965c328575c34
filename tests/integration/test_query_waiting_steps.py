"""GIVEN a day whose newest visits still wait to be ingested WHEN it is queried by steps THEN no step is biased."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine

from storage.query.answers.answer import as_document
from storage.query.query_engine import QueryEngine
from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from tests.integration.test_query_estimates import MIDNIGHT, PERIOD, SIZES, minutes
from tests.sampled_campaign import Campaign

pytestmark = [pytest.mark.integration, pytest.mark.slow]

HOURS = 10
EACH = 6
"""Visits of a stratum and hour."""
ASKED = minutes(0, 60 * HOURS)
PER_VISIT = {"east": 100 * 3600 / EACH / 5, "west": 40 * 3600 / EACH / 5, "north": 7 * 3600 / EACH / 5}
"""What a second watched stands for once all have been ingested."""


def at(hour: int, number: int) -> datetime:
    return MIDNIGHT + timedelta(hours=hour, minutes=7 * number)


class Fleet:
    """Strata that bring as many samples in each visit of an hour."""

    def __init__(self, connection: Connection) -> None:
        self.campaign = Campaign(connection, SIZES)
        self.stack = self.campaign.write.stack([self.campaign.write.function("main")])

    def ingest(self, hour: int, stratum: str, number: int) -> None:
        ingested = self.campaign.answer(at(hour, number), stratum, utilisation=0.5)
        self.campaign.write.profile(ingested, {self.stack: samples(hour, stratum)}, period=PERIOD)


def samples(hour: int, stratum: str) -> int:
    return {"east": 100, "west": 300, "north": 50}[stratum] + 10 * hour


def true(hour: int, strata: tuple[str, ...] = tuple(SIZES)) -> float:
    """Core-seconds."""
    return sum(EACH * PER_VISIT[name] * samples(hour, name) * PERIOD * 1e-9 for name in strata)


def ingest(engine: Engine, newest: dict[str, tuple[int, int]], waiting_hours: int = 1) -> None:
    """All of the older hours; of each stratum's six visits of a newest hour so many ingested and failed, the others wait."""
    with engine.begin() as connection:
        fleet = Fleet(connection)
        for hour in range(HOURS):
            for stratum in SIZES:
                ingested, failed = (EACH, 0) if hour < HOURS - waiting_hours else newest[stratum]
                for number in range(EACH):
                    if number < ingested:
                        fleet.ingest(hour, stratum, number)
                    elif number < ingested + failed:
                        fleet.campaign.fail(at(hour, number), stratum, utilisation=0.5)
                    elif number % 2:
                        fleet.campaign.draw(at(hour, number), stratum)
                    else:
                        fleet.campaign.wait(at(hour, number), stratum, utilisation=0.5)


def test_steps_are_what_they_will_be_once_all_has_ingested(engine: Engine, queries: QueryEngine):
    ingest(engine, {"east": (5, 0), "west": (5, 0), "north": (5, 0)}, waiting_hours=2)
    series = queries.ask(SeriesQuestion(ASKED, ("function",), step_s=3600))
    assert [step.visits_waiting for step in series.steps] == [0] * 8 + [3, 3]
    assert [step.visits_drawn for step in series.steps] == [3 * EACH] * HOURS
    for line in (series.whole, series.rows[0].points):
        assert [point.core_seconds.value for point in line] == pytest.approx(
            [true(hour) for hour in range(HOURS)]
        )
        assert all(
            point.core_seconds.lo < true(hour) < point.core_seconds.hi for hour, point in enumerate(line)
        )
    assert [step.estimated_seconds for step in series.steps] == [3600] * HOURS


def test_a_stratum_that_waits_longer_than_the_others_counts_for_all_its_visits(
    engine: Engine, queries: QueryEngine
):
    ingest(engine, {"east": (6, 0), "west": (2, 0), "north": (6, 0)}, waiting_hours=4)
    whole = queries.ask(SeriesQuestion(ASKED, step_s=3600)).whole
    assert [point.core_seconds.value for point in whole] == pytest.approx(
        [true(hour) for hour in range(HOURS)]
    )


def test_of_a_step_of_which_too_little_has_ingested_nothing_is_said(engine: Engine, queries: QueryEngine):
    ingest(engine, {"east": (1, 0), "west": (0, 0), "north": (0, 0)})
    series = queries.ask(SeriesQuestion(ASKED, ("function",), step_s=3600))
    last = series.steps[-1]
    assert (last.visits_waiting, last.covered_seconds, last.estimated_seconds, last.too_few_ingested) == (
        17,
        3600,
        0,
        True,
    )
    for line in (series.whole, series.rows[0].points, series.remainder):
        assert (line[-1].share, line[-1].core_seconds, line[-1].cores) == (None, None, None)
    assert (series.whole[-1].units, series.whole[-1].visits) == (samples(9, "east") * PERIOD, 1)
    assert [point.core_seconds.value for point in series.whole[:-1]] == pytest.approx(
        [true(hour) for hour in range(HOURS - 1)]
    )
    document = as_document(queries.ask(SeriesQuestion(ASKED, step_s=3600)))
    assert document["steps"][-1]["visits_waiting"] == 17
    assert document["steps"][-1]["too_few_ingested"] is True
    assert document["lines"][0]["points"][-1]["cores"] is None


def test_failed_visits_have_come_to_an_end(engine: Engine, queries: QueryEngine):
    ingest(engine, {"east": (4, 2), "west": (6, 0), "north": (6, 0)})
    answer = queries.ask(SeriesQuestion(ASKED, step_s=3600))
    assert [step.visits_waiting for step in answer.steps] == [0] * HOURS
    points = answer.whole
    assert sum(point.core_seconds.value for point in points) == pytest.approx(
        answer.totals.core_seconds.value
    )
    assert answer.totals.visits_waiting == 0


def test_what_was_quarantined_waits_no_longer(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        fleet = Fleet(connection)
        for hour in range(2):
            for number in range(EACH):
                fleet.ingest(hour, "east", number)
        fleet.campaign.wait(at(1, EACH), "east", quarantined="It is no capture.")
        fleet.campaign.wait(at(1, EACH + 1), "east")
    series = queries.ask(SeriesQuestion(minutes(0, 120), step_s=3600))
    assert [step.visits_waiting for step in series.steps] == [0, 1]


def test_the_table_says_how_many_visits_wait(engine: Engine, queries: QueryEngine):
    ingest(engine, {"east": (5, 0), "west": (5, 0), "north": (5, 0)}, waiting_hours=2)
    assert queries.ask(TableQuestion(ASKED, ("function",), Page())).totals.visits_waiting == 6
    earlier = minutes(0, 60 * (HOURS - 2))
    assert queries.ask(TableQuestion(earlier, ("function",), Page())).totals.visits_waiting == 0


def test_days_that_steps_do_not_cut_weigh_as_before(engine: Engine, queries: QueryEngine):
    ingest(engine, {"east": (5, 0), "west": (5, 0), "north": (5, 0)}, waiting_hours=2)
    answer = queries.ask(SeriesQuestion(ASKED, step_s=86_400))
    (point,) = answer.whole
    assert point.core_seconds.value == pytest.approx(answer.totals.core_seconds.value)
