"""Every stratum of a round has its population in the coverage, also where chance drew nobody."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from alembic import command
from sqlalchemy import Connection, Engine, Row, func, inspect, select

from collector import schedule_round
from collector.schedule import round_at
from storage import campaigns, coverage, inventory, migrate, visits
from storage.campaigns import Campaign, Definition, EventPlan, State
from storage.inventory import NewMachine
from storage.schema import BY_HAND, Outcome, covered_time, visit
from storage.schema import coverage as rows
from storage.visits import DrawnVisit

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = int(NOON.timestamp()) // 3600
FLEET = Definition("fleet", period_s=60, visits_per_round=1, events=(EventPlan("cpu", 5000, rate_hz=99),))


def make_fleet(connection: Connection, sizes: tuple[int, ...], definition: Definition = FLEET) -> Campaign:
    """A stratum of each size, one a data centre."""
    for n, size in enumerate(sizes):
        for m in range(size):
            inventory.add(connection, NewMachine(f"dc{n}-{m}", "h:1", datacenter=f"dc{n}"))
    return campaigns.create_or_update(connection, definition)


def draw(connection: Connection, campaign: Campaign, now: datetime = NOON, seed: int = 1) -> int:
    drawn = schedule_round.draw_round(connection, campaign, now, np.random.default_rng(seed))
    assert drawn is not None
    return len(drawn)


def populations(connection: Connection, campaign: Campaign) -> dict[int, dict[int, tuple[int, int]]]:
    """Hour → stratum → (population, drawn), of class -1."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for row in connection.execute(
        select(rows).where(rows.c.campaign_id == campaign.campaign_id, rows.c.utilisation_class == -1)
    ):
        found.setdefault(row.hour, {})[row.stratum_id] = (row.population, row.drawn)
    return found


@pytest.fixture
def fleet(engine: Engine) -> Campaign:
    with engine.begin() as connection:
        return make_fleet(connection, (3, 40, 7, 1, 12))


def test_strata_without_a_draw_have_their_row(engine: Engine, fleet: Campaign) -> None:
    with engine.begin() as connection:
        assert draw(connection, fleet) == 1
        found = populations(connection, fleet)
    assert list(found) == [HOUR]
    assert sorted(size for size, _ in found[HOUR].values()) == [1, 3, 7, 12, 40]
    assert sorted(drawn for _, drawn in found[HOUR].values()) == [0, 0, 0, 0, 1]


def test_drawing_all_day_equals_the_visits(engine: Engine, fleet: Campaign) -> None:
    with engine.begin() as connection:
        for n in range(40):
            draw(connection, fleet, NOON + timedelta(minutes=n), seed=n)
        found = populations(connection, fleet)
        drawn = connection.execute(
            select(visit.c.hour, visit.c.stratum_id, func.count()).group_by(visit.c.hour, visit.c.stratum_id)
        ).all()
    assert {(h, s): n for h, strata in found.items() for s, (_, n) in strata.items() if n} == {
        (h, s): n for h, s, n in drawn
    }
    assert all(sorted(size for size, _ in strata.values()) == [1, 3, 7, 12, 40] for strata in found.values())


def test_the_largest_population_of_the_hour_stays(engine: Engine, fleet: Campaign) -> None:
    with engine.begin() as connection:
        draw(connection, fleet)
        for n in range(7):
            inventory.remove(connection, f"dc1-{n}")
        inventory.add(connection, NewMachine("new", "h:1", datacenter="dc0"))
        draw(connection, fleet, NOON + timedelta(minutes=1))
        draw(connection, fleet, NOON + timedelta(hours=1))
        found = populations(connection, fleet)
    assert sorted(size for size, _ in found[HOUR].values()) == [1, 4, 7, 12, 40]
    assert sorted(size for size, _ in found[HOUR + 1].values()) == [1, 4, 7, 12, 33]


def test_a_long_round_has_rows_in_all_its_hours(engine: Engine) -> None:
    """Its moments lie scattered over them, so all of them were drawn from, whatever chance chose."""
    with engine.begin() as connection:
        campaign = make_fleet(connection, (5, 5), replace(FLEET, period_s=86_400, visits_per_round=3))
        draw(connection, campaign)
        found = populations(connection, campaign)
    assert sorted(found) == list(range(HOUR, HOUR + 12))
    assert all(len(strata) == 2 for strata in found.values())
    days = {(row.hour, row.day) for row in connection_rows(engine)}
    assert {day for _, day in days} == {NOON.date()}


def test_a_round_over_midnight_has_rows_of_both_days(engine: Engine) -> None:
    with engine.begin() as connection:
        campaign = make_fleet(connection, (5,), replace(FLEET, period_s=7 * 3600, visits_per_round=1))
        draw(connection, campaign, NOON + timedelta(hours=11))
    assert all(
        row.day == (datetime.fromtimestamp(row.hour * 3600, UTC)).date() for row in connection_rows(engine)
    )
    assert len({row.day for row in connection_rows(engine)}) == 2


def runs(connection: Connection) -> list[tuple[float, float]]:
    """When rounds were drawn, in seconds from noon."""
    found = connection.execute(select(covered_time.c.begins, covered_time.c.ends)).all()
    return sorted(((begins - NOON).total_seconds(), (ends - NOON).total_seconds()) for begins, ends in found)


def test_rounds_that_follow_each_other_are_one_run_until_a_pause(engine: Engine, fleet: Campaign) -> None:
    with engine.begin() as connection:
        for moment in (0, 61, 124, 180, 245):
            draw(connection, fleet, NOON + timedelta(seconds=moment))
        assert runs(connection) == [(0, 300)]
        for moment in (306, 480, 545):
            draw(connection, fleet, NOON + timedelta(seconds=moment))
        assert runs(connection) == [(0, 300), (306, 360), (480, 600)]


def test_after_a_pause_a_round_has_the_visits_of_what_is_left_of_it(engine: Engine) -> None:
    with engine.begin() as connection:
        campaign = make_fleet(connection, (30, 90), replace(FLEET, visits_per_round=120))
        number = [draw(connection, campaign, NOON + timedelta(seconds=s)) for s in (45, 60, 121, 230)]
    assert number == [30, 120, 120, 20]


def test_a_round_of_another_period_may_overlap_the_one_before(engine: Engine, fleet: Campaign) -> None:
    with engine.begin() as connection:
        longer = campaigns.create_or_update(connection, replace(FLEET, period_s=3600))
        draw(connection, longer)
        again = campaigns.create_or_update(connection, FLEET)
        for minute in (20, 59, 60):
            draw(connection, again, NOON + timedelta(minutes=minute))
        assert runs(connection) == [(0, 3660)]


def test_a_campaign_that_is_paused_covers_no_more_of_its_round(engine: Engine) -> None:
    now = datetime.now(UTC)
    begins = now.replace(minute=0, second=0, microsecond=0)
    with engine.begin() as connection:
        campaign = make_fleet(connection, (5,), replace(FLEET, period_s=86_400, visits_per_round=1))
        other = make_fleet(connection, (), replace(FLEET, name="other", period_s=86_400))
        for each in (campaign, other):
            draw(connection, each, begins)
        campaigns.set_state(connection, "fleet", State.PAUSED, "for a test")
        found = connection.execute(select(covered_time).order_by(covered_time.c.campaign_id)).all()
        assert now <= found[0].ends <= datetime.now(UTC)
        assert found[0].begins == found[1].begins == begins
        assert found[1].ends > found[0].ends
        assert not coverage.end_time(connection, campaign.campaign_id), "it has ended"
        assert coverage.end_time(connection, other.campaign_id, begins + timedelta(seconds=5))
        campaigns.set_state(connection, "fleet", State.RUNNING, "")
        [ends] = connection.scalars(
            select(covered_time.c.ends).where(covered_time.c.campaign_id == campaign.campaign_id)
        )
        assert ends == found[0].ends


def test_a_campaign_that_finds_no_machine_covers_no_time(engine: Engine) -> None:
    with engine.begin() as connection:
        campaign = make_fleet(connection, ())
        assert draw(connection, campaign) == 0
        assert runs(connection) == []


def test_of_rounds_drawn_before_their_time_was_kept_the_visits_say_it(engine: Engine) -> None:
    """A pause is what chance would not leave without a visit; a run ends with the round of its last visit."""
    moments = [
        *range(30 * 60 + 7, 2 * 3600 + 20 * 60, 60),
        *range(3 * 3600, 3 * 3600 + 60, 10),
        3 * 3600 + 650,
    ]
    with engine.begin() as connection:
        campaign = make_fleet(connection, (1,))
        stratum = inventory.stratum_ids(connection, [("dc0", "")])["dc0", ""]
        machine = inventory.machines(connection)[0].machine_id
        drawn = [
            DrawnVisit(
                uuid4(), campaign.campaign_id, round_at(moment, 60), machine, stratum, 1, 1, 1.0, moment
            )
            for moment in (NOON + timedelta(seconds=second) for second in moments)
        ]
        by_hand = replace(drawn[0], visit_id=uuid4(), round=BY_HAND, drawn_at=NOON - timedelta(hours=3))
        visits.record_draw(connection, [*drawn, by_hand])
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")
        assert "covered_time" not in inspect(connection).get_table_names()
        command.upgrade(config, "head")
        assert migrate.differences(connection) == []
        last = 3 * 3600 + 660
        assert runs(connection) == [(30 * 60 + 7, 2 * 3600 + 20 * 60), (3 * 3600, last)]
        assert draw(connection, campaign, NOON + timedelta(seconds=last)) == 1
        assert runs(connection)[-1] == (3 * 3600, last + 60), "a round goes on where the last one ended"


def test_a_campaign_that_never_draws_has_no_coverage(engine: Engine) -> None:
    with engine.begin() as connection:
        campaign = make_fleet(connection, (5,), replace(FLEET, visits_per_round=0))
        assert draw(connection, campaign) == 0
        assert populations(connection, campaign) == {}
        assert runs(connection) == []


@pytest.mark.slow
def test_draws_and_endings_at_once_never_deadlock(engine: Engine, fleet: Campaign) -> None:
    """Each draw touches every stratum's row, each ending two; a deadlock would raise DatabaseBusy."""
    with engine.begin() as connection:
        for n in range(60):
            draw(connection, fleet, NOON + timedelta(minutes=n), seed=n)
        ids = list(connection.scalars(select(visit.c.visit_id)))
    ending = iter(ids)
    numbers = iter(range(60, 90))
    lock = threading.Lock()

    def end() -> bool:
        with lock:
            some = [visit_id for visit_id, _ in zip(ending, range(3), strict=False)]
        with engine.begin() as connection:
            for visit_id in some[:1]:
                visits.finish(
                    connection, visit_id, outcome=Outcome.ANSWERED, detail="", ended_at=NOON, seconds=5.0,
                    utilisation=int(visit_id.hex[:2], 16) / 256,
                )  # fmt: skip
        return bool(some)

    def draw_more() -> bool:
        with lock:
            number = next(numbers, None)
        if number is not None:
            with engine.begin() as connection:
                # The hours that are being ended too: rounds overlap them.
                coverage.note_populations(
                    connection,
                    fleet.campaign_id,
                    dict.fromkeys(populations(connection, fleet)[HOUR], 100 + number),
                    [HOUR, HOUR + 1],
                )
                visits.abandon(connection, NOON - timedelta(days=1))
        return number is not None

    errors: list[BaseException] = []

    def run(work: Callable[[], bool]) -> None:
        try:
            while work():
                pass
        except BaseException as error:  # noqa: BLE001 - told to the test below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in (end, end, draw_more, draw_more)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    with engine.connect() as connection:
        assert connection.scalar(select(func.sum(rows.c.drawn))) == 60
        assert {p for p, _ in populations(connection, fleet)[HOUR].values()} == {189}


def connection_rows(engine: Engine) -> list[Row[Any]]:
    with engine.connect() as connection:
        return list(connection.execute(select(rows)))
