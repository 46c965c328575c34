"""A collector with real threads, sockets and PostgreSQL; only what the gateways say is made up."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, text
from structlog.testing import capture_logs

from collector import appointments, sweep
from collector.events import CampaignStopped, RoundDrawn, VisitEnded
from collector.run import Collector, Pace
from collector.standing import ensure_by_hand
from collector.visit import Visitor
from fleetpb.gateway_pb2 import Refusal
from services.embedded.postgres import EmbeddedPostgres
from storage import campaigns, inventory, migrate, partitions, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan, State
from storage.database import open_engine
from storage.inventory import NewMachine
from storage.schema import capture, coverage, machine, visit
from storage.visits import Outcome
from tests import gateways
from tests.gateways import capture_of, packed, refusal, serving

pytestmark = pytest.mark.integration

QUICK = Definition(
    "fleet",
    period_s=0.5,
    visits_per_round=10,
    events=(EventPlan("cpu", 50, rate_hz=99),),
    failure_threshold=1.0,
    failure_window=50,
)
PACE = Pace(look_s=0.05, sweep_s=0.2, describe_s=0.2, resend_s=0.5, grace_s=0.2)
PATIENCE_S = 20.0


@pytest.fixture
def sockets(server_directory: Path) -> Iterator[Path]:
    folder = server_directory / f"sockets-{time.monotonic_ns()}"
    folder.mkdir()
    return folder


@pytest.fixture
def sent() -> list[UUID]:
    return []


def define(engine: Engine, definition: Definition, *machines: NewMachine) -> None:
    with engine.begin() as connection:
        campaigns.create_or_update(connection, definition)
        for new in machines:
            inventory.add(connection, new)


def a_collector(engine: Engine, archive: Archive, send: Callable[[UUID], None], **changes) -> Collector:
    visitor = Visitor(first_reply_s=0.5)
    return Collector(
        engine, archive, lambda due: send(due.visit_id), **{"visitor": visitor, "pace": PACE, **changes}
    )


@contextmanager
def running(*collectors: Collector) -> Iterator[None]:
    """The collectors, each on a thread and loop of its own; stopped and joined at the end."""
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    errors: list[BaseException] = []
    ready = threading.Barrier(len(collectors) + 1)

    def work(collector: Collector) -> None:
        async def main() -> None:
            stop = asyncio.Event()
            started.append((asyncio.get_running_loop(), stop))
            ready.wait()
            await collector.run(stop)

        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001 - raised in the test's own thread below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(collector,)) for collector in collectors]
    for thread in threads:
        thread.start()
    ready.wait()
    try:
        yield
    finally:
        for loop, stop in started:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    if errors:
        raise errors[0]


def eventually(ask):
    """The first true answer."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)
    return answer


def outcomes(engine: Engine) -> dict[str, set[str]]:
    """Machine → outcomes of its visits that ended."""
    with engine.connect() as connection:
        rows = connection.execute(
            select(machine.c.name, visit.c.outcome)
            .join(visit, visit.c.machine_id == machine.c.machine_id)
            .where(visit.c.outcome.not_in([Outcome.DRAWN, Outcome.LOST]))
        )
        found: dict[str, set[str]] = {}
        for row in rows:
            found.setdefault(row.name, set()).add(row.outcome)
        return found


def count(engine: Engine, statement) -> int:
    with engine.connect() as connection:
        return connection.scalar(statement)


def campaign_of(engine: Engine, name: str = "fleet") -> campaigns.Campaign:
    with engine.connect() as connection:
        return campaigns.get(connection, name)


def test_a_visit_from_draw_to_task(engine, archive, sockets, sent):
    events = []
    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address, datacenter="dc"))
        with running(a_collector(engine, archive, sent.append, watcher=events.append)):
            eventually(lambda: sent)
            eventually(lambda: any(isinstance(event, VisitEnded) for event in events))
    with engine.connect() as connection:
        row = connection.execute(select(visit).where(visit.c.visit_id == sent[0])).one()
        kept = connection.execute(select(capture).where(capture.c.visit_id == sent[0])).one()
        described = inventory.find(connection, "m1")
        cells = connection.execute(
            select(func.sum(coverage.c.drawn), func.sum(coverage.c.answered), func.max(coverage.c.population))
        ).one()
        days = partitions.existing(connection)
    assert (row.outcome, row.population, row.drawn, row.probability) == ("answered", 1, 1, 1.0)
    assert row.seconds == 0.05
    assert row.utilisation == 0.5
    assert row.drawn_at <= row.started_at <= row.ended_at
    assert (row.day, row.hour) == (row.drawn_at.date(), int(row.drawn_at.timestamp() // 3600))
    assert archive.get(kept.blob) == archive.get(capture_key(row.day, row.visit_id))
    assert (kept.samples, kept.landed) == (7, 0)
    assert (described.platform, described.logical_cpus) == ("Test CPU", 8)
    assert cells[1] >= 1
    assert cells[2] == 1
    today = datetime.now(UTC).date()
    assert {today, today + timedelta(days=1)} <= set(days)
    drawn = next(event for event in events if isinstance(event, RoundDrawn))
    assert (drawn.campaign, drawn.visits) == ("fleet", 1)


def test_described_before_the_first_draw_so_that_the_stratum_is_right(engine, archive, sockets, sent):
    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address, datacenter="dc"))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: sent)
    assert count(engine, text("select count(*) from stratum where platform = ''")) == 0


def test_a_new_kernel_is_noticed_at_a_visit(engine, archive, sockets, sent):
    def upgraded(plan, _context):
        seen = capture_of(plan.visit_id)
        seen.machine.kernel_release = "7.0.0"
        blob = packed(seen)
        yield from (gateways.begin(), gateways.Reply(data=blob), gateways.end(blob))

    with serving(sockets / "g", upgraded) as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: sent)
            newer = type(gateways.MACHINE)()
            newer.CopyFrom(gateways.MACHINE)
            newer.kernel_release = "7.0.0"
            gateway.machine = newer
            eventually(lambda: count(engine, select(machine.c.kernel)) == "7.0.0")


def test_each_failure_is_recorded_as_what_it_is_and_the_rest_goes_on(engine, archive, sockets, sent):
    def limited(_plan, _context):
        yield refusal(Refusal.TOO_MANY, "one capture is being taken", 0.9)

    def garbled(_plan, _context):
        yield b"\xff\xff\xff"

    with (
        serving(sockets / "good") as good,
        serving(sockets / "limited", limited) as limiting,
        serving(sockets / "silent", gateways.says_nothing) as silent,
        serving(sockets / "garbled", garbled) as garbling,
    ):
        define(
            engine,
            QUICK,
            NewMachine("good", good.address),
            NewMachine("limited", limiting.address),
            NewMachine("silent", silent.address),
            NewMachine("garbled", garbling.address),
            NewMachine("down", f"unix:{sockets / 'nothing'}"),
        )
        expected = {
            "good": {"answered"},
            "limited": {"refused"},
            "silent": {"timeout"},
            "garbled": {"garbage"},
            "down": {"unreachable"},
        }
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: outcomes(engine) == expected)
            before = len(sent)
            eventually(lambda: len(sent) > before)
    with engine.connect() as connection:
        refused = connection.execute(select(visit).where(visit.c.outcome == "refused").limit(1)).one()
    assert (refused.detail, refused.utilisation) == ("TOO_MANY: one capture is being taken", 0.9)


def test_the_brake_stops_a_campaign_and_resuming_forgets(engine, archive, sockets, sent):
    events = []
    braked = replace(QUICK, failure_threshold=0.5, failure_window=10)
    define(engine, braked, NewMachine("m1", f"unix:{sockets / 'g'}"))
    with running(a_collector(engine, archive, sent.append, watcher=events.append)):
        eventually(lambda: campaign_of(engine).state == State.STOPPED)
        why = campaign_of(engine).state_why
        assert "5 of the last 5 visits failed" in why
        assert "unreachable" in why
        assert "fleetprof campaigns resume fleet" in why
        eventually(lambda: CampaignStopped("fleet", why) in events)
        with serving(sockets / "g"):
            with engine.begin() as connection:
                campaigns.set_state(connection, "fleet", State.RUNNING, "")
            eventually(lambda: sent)
            assert campaign_of(engine).state == State.RUNNING
    assert sum(isinstance(event, CampaignStopped) for event in events) == 1


def test_a_visit_that_cannot_start_in_time_is_called_off(engine, archive, sockets, sent):
    """The clock jumps between draw and call, as if the collector had been busy for two minutes."""
    shift = timedelta()

    def jump(event):
        nonlocal shift
        if isinstance(event, RoundDrawn):
            shift = timedelta(minutes=2)

    with serving(sockets / "g") as gateway:
        define(engine, replace(QUICK, period_s=1.0), NewMachine("m1", gateway.address))
        visitor = Visitor(clock=lambda: datetime.now(UTC) + shift)
        with running(a_collector(engine, archive, sent.append, visitor=visitor, watcher=jump)):
            lost = select(visit.c.detail).where(visit.c.outcome == "lost")
            detail = eventually(lambda: count(engine, lost))
    assert "s late" in detail
    assert "FLEETPROF_CONCURRENT_VISITS" in detail


def test_a_campaign_draws_only_the_machines_it_selects(engine):
    chosen = replace(QUICK, select_machines={"rack": "r1", "datacenter": "fra"})
    define(
        engine,
        chosen,
        NewMachine("right", "h:1", datacenter="fra", labels={"rack": "r1"}),
        NewMachine("rack only", "h:1", labels={"rack": "r1"}),
        NewMachine("datacenter only", "h:1", datacenter="fra"),
        NewMachine("disabled", "h:1", datacenter="fra", labels={"rack": "r1"}),
    )
    with engine.begin() as connection:
        inventory.set_enabled(connection, "disabled", enabled=False)
        fleet = campaigns.get(connection, "fleet")
        now = datetime.now(UTC)
        drawn = appointments.draw_round(connection, fleet, now, np.random.default_rng(1))
        again = appointments.draw_round(connection, fleet, now, np.random.default_rng(1))
    assert drawn is not None
    assert [(one.machine.name, one.visit.population) for one in drawn] == [("right", 1)]
    assert again is None, "the round is drawn already"


def test_a_stopped_campaign_calls_nobody(engine, archive, sockets, sent):
    """Also not the machines of a round that was drawn before."""
    with serving(sockets / "g") as gateway:
        define(engine, replace(QUICK, period_s=3600), NewMachine("m1", gateway.address))
        with engine.begin() as connection:
            drawn = appointments.draw_round(
                connection, campaigns.get(connection, "fleet"), datetime.now(UTC), np.random.default_rng(1)
            )
            campaigns.set_state(connection, "fleet", State.PAUSED, "by a test")
        at_once = replace(drawn[0], visit=replace(drawn[0].visit, drawn_at=datetime.now(UTC)))
        from collector import books

        assert "paused" in books.open_visit(engine, at_once, datetime.now(UTC))


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


def test_never_two_visits_on_one_machine_at_a_time(engine, archive, sockets, sent):
    under_way, most, lock = [0], [0], threading.Lock()

    def counting(plan, context):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        yield from gateways.answers(plan, context)
        with lock:
            under_way[0] -= 1

    with serving(sockets / "g", counting) as gateway:
        define(engine, replace(QUICK, period_s=0.05), NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: len(sent) >= 10)
    assert most == [1]


def test_what_the_broker_did_not_take_is_sent_by_the_sweep(engine, archive, sockets, sent):
    up = threading.Event()

    def send(visit_id):
        if not up.is_set():
            raise ConnectionError("refused")
        sent.append(visit_id)

    with serving(sockets / "g") as gateway, capture_logs() as lines:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, send)):
            waiting = select(func.count()).select_from(capture)
            eventually(lambda: count(engine, waiting) >= 3)
            up.set()
            with engine.connect() as connection:
                first = set(connection.execute(select(capture.c.visit_id)).scalars())
            eventually(lambda: first <= set(sent))
    said = [line["event"] for line in lines if "broker" in line["event"]]
    assert said == ["the broker is away, waiting for it", "the broker is back"]


def test_a_capture_whose_collector_died_before_its_row_is_adopted(engine, archive, sent):
    now = datetime.now(UTC)
    define(engine, QUICK, NewMachine("m1", "unix:/nothing"))
    with engine.begin() as connection:
        campaign = campaigns.get(connection, "fleet")
        found = inventory.find(connection, "m1")
        with_blob, without = (
            appointments.by_hand(connection, campaign, found, now - timedelta(minutes=5)).visit
            for _ in range(2)
        )
    blob = packed(capture_of(with_blob.visit_id.bytes))
    archive.put(capture_key(with_blob.day, with_blob.visit_id), blob)
    assert sweep.adopt(engine, archive, before=now, now=now) == [with_blob.visit_id]
    assert sweep.adopt(engine, archive, before=now, now=now) == []
    assert sweep.send_due(engine, lambda due: len(sent.extend(due) or due)) == 1
    assert [due.visit_id for due in sent] == [with_blob.visit_id]
    with engine.connect() as connection:
        row = connection.execute(select(visit).where(visit.c.visit_id == with_blob.visit_id)).one()
    assert (row.outcome, row.seconds, row.utilisation) == ("answered", 0.05, 0.3)
    assert sweep.give_up(engine, now=now) == 0, "it may still be under way"
    assert sweep.give_up(engine, now=now + timedelta(hours=1)) == 1
    assert count(engine, select(visit.c.outcome).where(visit.c.visit_id == without.visit_id)) == "lost"


def test_an_archive_that_cannot_be_written_fails_the_visit(engine, sockets, sent, tmp_path):
    (tmp_path / "archive").write_text("a file where the folder should be")
    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        with running(a_collector(engine, Archive(str(tmp_path / "archive")), sent.append)):
            eventually(lambda: outcomes(engine).get("m1") == {"failed"})
    assert "archive" in count(engine, select(visit.c.detail).where(visit.c.outcome == "failed").limit(1))


def test_stopping_ends_every_visit(engine, archive, sockets, sent):
    """Under way: broken off after the grace; not begun: called off. Nothing stays open."""
    calling = threading.Event()

    def hanging(plan, context):
        calling.set()
        yield from gateways.hangs_after_begin(plan, context)

    with serving(sockets / "g", hanging) as gateway:
        fleet = replace(QUICK, period_s=2.0)
        define(engine, fleet, *(NewMachine(f"m{n}", gateway.address) for n in range(4)))
        with running(a_collector(engine, archive, sent.append)):
            eventually(calling.is_set)
    with engine.connect() as connection:
        rows = connection.execute(select(visit.c.outcome, visit.c.detail)).all()
    assert {row.outcome for row in rows} <= {"lost", "timeout"}
    assert any("stopped during the visit" in row.detail for row in rows)


def test_a_visit_by_hand_is_in_no_figure_of_the_fleet(engine, archive, sockets):
    from collector import by_hand

    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        visitor = Visitor()
        booked = by_hand.book(engine, "m1", visitor)
        visited = asyncio.run(
            by_hand.carry_out(
                engine,
                archive,
                visitor,
                booked,
                events=QUICK.events,
                on_progress=lambda _done, _samples: None,
            )
        )
    assert visited.outcome == Outcome.ANSWERED
    with engine.begin() as connection:
        row = connection.execute(select(visit)).one()
        assert (row.round, row.probability, row.outcome) == (visits.BY_HAND, 0.0, "answered")
        assert connection.execute(select(coverage)).all() == []
        assert ensure_by_hand(connection).state == State.PAUSED
    landing = by_hand.wait_for_landing(engine, booked.visit_id, seconds=0)
    assert landing is not None
    assert not landing.landed


def test_a_restarted_postgresql_is_waited_for(server_directory, archive, sockets, sent):
    """Killed, not stopped: connections break in the middle of whatever they did."""
    import os
    import signal

    server = EmbeddedPostgres(server_directory / "second", options={"fsync": "off", "shared_buffers": "32MB"})
    server.start()
    try:
        migrate.upgrade(server.url())
        engine = open_engine(server.url(), application="test")
        with serving(sockets / "g") as gateway, capture_logs() as lines:
            define(engine, QUICK, NewMachine("m1", gateway.address))
            with running(a_collector(engine, archive, sent.append)):
                eventually(lambda: sent)
                assert server.pid is not None
                os.kill(server.pid, signal.SIGKILL)
                eventually(lambda: any("database is away" in line["event"] for line in lines))
                server.start()
                before = len(sent)
                eventually(lambda: len(sent) > before + 1)
                with engine.connect() as connection:
                    ids = connection.execute(select(capture.c.visit_id)).scalars().all()
                eventually(lambda: set(ids) <= set(sent))
                os.kill(server.pid, signal.SIGKILL)
                eventually(lambda: lines[-1]["event"].startswith("the database is away"))
        assert lines[-1]["event"] == "collector has ended", "stopping does not wait for the database"
        assert sum("database is away" in line["event"] for line in lines) <= 6, "said, not repeated"
        assert not any(line.get("exc_info") for line in lines)
        engine.dispose()
    finally:
        server.stop()
