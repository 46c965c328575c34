"""GIVEN several collectors, or a clock that jumps WHEN rounds are due THEN each is drawn once, in time or not at all."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count as count_from

import pytest
from sqlalchemy import func, select

from collector.events import RoundDrawn
from collector.visit import Visitor
from storage import partitions
from storage.inventory import NewMachine
from storage.schema import Outcome, covered_time, visit
from tests import fake_gateways
from tests.fake_gateways import serving
from tests.integration.collector.running_collector import (
    QUICK,
    a_collector,
    campaign_of,
    count,
    define,
    eventually,
    running,
)

pytestmark = pytest.mark.integration

START = datetime(2026, 3, 4, 12, tzinfo=UTC)


def test_a_visit_that_cannot_start_in_time_is_called_off(engine, archive, sockets, sent):
    """The clock jumps between draw and call, as if the collector had been busy for two minutes."""
    shift = timedelta()

    def jump(event):
        nonlocal shift
        if isinstance(event, RoundDrawn) and event.visits:
            shift = timedelta(minutes=2)

    with serving(sockets / "g") as gateway:
        define(engine, replace(QUICK, period_s=1.0), NewMachine("m1", gateway.address))
        visitor = Visitor(clock=lambda: datetime.now(UTC) + shift)
        with running(a_collector(engine, archive, sent.append, visitor=visitor, watcher=jump)):
            lost = select(visit.c.detail).where(visit.c.outcome == "lost")
            detail = eventually(lambda: count(engine, lost))
    assert "s late" in detail
    assert "FLEETPROF_CONCURRENT_VISITS" in detail


@pytest.mark.slow
def test_two_collectors_draw_each_round_once(engine, archive, sockets, sent):
    rounds = []
    with serving(sockets / "g") as gateway:
        define(engine, QUICK, *(NewMachine(f"m{n}", gateway.address) for n in range(3)))
        both = [a_collector(engine, archive, sent.append, watcher=rounds.append) for _ in range(2)]
        with running(*both):
            eventually(lambda: sum(isinstance(event, RoundDrawn) for event in rounds) >= 4)
    numbers = [event.number for event in rounds if isinstance(event, RoundDrawn)]
    assert len(set(numbers)) == len(numbers)
    with engine.connect() as connection:
        per_machine_and_round = connection.execute(
            select(func.count()).select_from(visit).group_by(visit.c.round, visit.c.machine_id)
        ).scalars()
        assert set(per_machine_and_round) == {1}


def test_what_is_told_of_a_round_is_told_of_the_one_that_was_drawn(engine, archive, sockets, sent):
    """Each reading of the clock lies in another round, as if the collector had been busy in between."""
    readings = count_from(0)
    told = []

    def later_and_later():
        return START + next(readings) * timedelta(seconds=QUICK.period_s)

    def note(event):
        if isinstance(event, RoundDrawn):
            told.append((event.number, campaign_of(engine).last_round))

    define(engine, QUICK)
    visitor = Visitor(clock=later_and_later)
    with running(a_collector(engine, archive, sent.append, visitor=visitor, watcher=note)):
        eventually(lambda: len(told) >= 3)
    assert [number for number, _ in told] == [drawn for _, drawn in told]


@pytest.mark.slow
def test_a_clock_that_jumps_by_days_stops_no_drawing_and_finds_its_partitions(engine, archive, sockets, sent):
    """Forward: a machine that slept. Back: one whose clock was wrong when it started."""
    ahead = [timedelta()]

    def days() -> set:
        with engine.connect() as connection:
            return set(connection.scalars(select(visit.c.day).where(visit.c.outcome == Outcome.ANSWERED)))

    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        visitor = Visitor(first_reply_s=0.5, clock=lambda: datetime.now(UTC) + ahead[0])
        with running(a_collector(engine, archive, sent.append, visitor=visitor)):
            eventually(days)
            today = days()
            ahead[0] = timedelta(days=10)
            later = {day + timedelta(days=10) for day in today}
            eventually(lambda: days() & later)
            with engine.connect() as connection:
                assert days() <= set(partitions.existing(connection))
            ahead[0] = timedelta()
            before = len(sent)
            eventually(lambda: len(sent) >= before + 3)
    assert campaign_of(engine).last_round <= datetime.now(UTC).timestamp() / QUICK.period_s


@pytest.mark.slow
def test_never_two_visits_on_one_machine_at_a_time(engine, archive, sockets, sent):
    under_way, most, lock = [0], [0], threading.Lock()

    def counting(plan, context):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        yield from fake_gateways.answers(plan, context)
        with lock:
            under_way[0] -= 1

    with serving(sockets / "g", counting) as gateway:
        define(engine, replace(QUICK, period_s=0.05), NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: len(sent) >= 10)
    assert most == [1]


def test_a_collector_that_is_stopped_covers_no_more_of_the_rounds_it_drew(engine, archive, sockets, sent):
    """Of another's round it ends nothing."""
    with serving(sockets / "g") as gateway:
        define(engine, replace(QUICK, period_s=86_400.0), NewMachine("m1", gateway.address))
        drew, came_later = (a_collector(engine, archive, sent.append) for _ in range(2))
        with running(drew):
            eventually(lambda: count(engine, select(covered_time.c.ends)))
            with running(came_later):
                pass
            assert count(engine, select(covered_time.c.ends)) > datetime.now(UTC)
        assert count(engine, select(covered_time.c.ends)) <= datetime.now(UTC)
