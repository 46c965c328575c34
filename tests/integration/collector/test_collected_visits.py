"""GIVEN gateways WHEN a collector visits them THEN every visit is recorded as what it was."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, text

from collector.default_campaign import ensure_by_hand
from collector.events import RoundDrawn, VisitEnded
from collector.visit import Visitor
from fleetpb.gateway_pb2 import Refusal
from storage import inventory, partitions
from storage.archive import capture_key
from storage.campaigns import State
from storage.inventory import NewMachine
from storage.schema import BY_HAND, Outcome, capture, coverage, machine, visit
from tests import fake_gateways
from tests.fake_gateways import capture_of, packed, refusal, serving
from tests.integration.collector.running_collector import (
    QUICK,
    a_collector,
    count,
    define,
    eventually,
    outcomes,
    running,
)

pytestmark = pytest.mark.integration


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
    assert (row.outcome, row.population, row.drawn) == ("answered", 1, 1)
    assert 0 < row.probability <= 1, "less if it was drawn in what was left of the first round"
    assert row.seconds == 0.05
    assert row.utilisation == 0.5
    assert row.drawn_at <= row.started_at <= row.ended_at
    assert (row.day, row.hour) == (row.drawn_at.date(), int(row.drawn_at.timestamp() // 3600))
    assert archive.get(kept.blob) == archive.get(capture_key(row.day, row.visit_id))
    assert (kept.samples, kept.ingested) == (7, 0)
    assert (described.platform, described.logical_cpus) == ("Test CPU", 8)
    assert cells[1] >= 1
    assert cells[2] == 1
    today = datetime.now(UTC).date()
    assert {today, today + timedelta(days=1)} <= set(days)
    rounds = [(event.campaign, event.visits) for event in events if isinstance(event, RoundDrawn)]
    assert rounds[0] in {("fleet", 0), ("fleet", 1)}, "of the first round what is left is drawn"
    assert ("fleet", 1) in rounds


def test_described_before_the_first_draw_so_that_the_stratum_is_right(engine, archive, sockets, sent):
    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address, datacenter="dc"))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: sent)
    assert count(engine, text("select count(*) from stratum where platform = ''")) == 0


@pytest.mark.slow
def test_a_new_kernel_is_noticed_at_a_visit(engine, archive, sockets, sent):
    def upgraded(plan, _context):
        seen = capture_of(plan.visit_id)
        seen.machine.kernel_release = "7.0.0"
        blob = packed(seen)
        yield from (fake_gateways.begin(), fake_gateways.Reply(data=blob), fake_gateways.end(blob))

    with serving(sockets / "g", upgraded) as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: sent)
            newer = type(fake_gateways.MACHINE)()
            newer.CopyFrom(fake_gateways.MACHINE)
            newer.kernel_release = "7.0.0"
            gateway.machine = newer
            eventually(lambda: count(engine, select(machine.c.kernel)) == "7.0.0")


@pytest.mark.slow
def test_each_failure_is_recorded_as_what_it_is_and_the_rest_goes_on(engine, archive, sockets, sent):
    def limited(_plan, _context):
        yield refusal(Refusal.TOO_MANY, "one capture is being taken", 0.9)

    def garbled(_plan, _context):
        yield b"\xff\xff\xff"

    with (
        serving(sockets / "good") as good,
        serving(sockets / "limited", limited) as limiting,
        serving(sockets / "silent", fake_gateways.says_nothing) as silent,
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
            "good": "answered",
            "limited": "refused",
            "silent": "timeout",
            "garbled": "garbage",
            "down": "unreachable",
        }

        def each_was_recorded() -> bool:
            found = outcomes(engine)
            return all(outcome in found.get(name, set()) for name, outcome in expected.items())

        with running(a_collector(engine, archive, sent.append)):
            eventually(each_was_recorded)
            # On a busy machine any visit may time out, too; no other outcome is another machine's.
            for name, found in outcomes(engine).items():
                assert found <= {expected[name], "timeout"}
            before = len(sent)
            eventually(lambda: len(sent) > before)
    with engine.connect() as connection:
        refused = connection.execute(select(visit).where(visit.c.outcome == "refused").limit(1)).one()
    assert (refused.detail, refused.utilisation) == ("TOO_MANY: one capture is being taken", 0.9)


def test_a_visit_by_hand_is_in_no_figure_of_the_fleet(engine, archive, sockets):
    from collector import by_hand

    with serving(sockets / "g") as gateway:
        define(engine, QUICK, NewMachine("m1", gateway.address))
        visitor = Visitor()
        booked = by_hand.schedule(engine, "m1", visitor)
        visited = asyncio.run(
            by_hand.run_visit(
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
        assert (row.round, row.probability, row.outcome) == (BY_HAND, 0.0, "answered")
        assert connection.execute(select(coverage)).all() == []
        assert ensure_by_hand(connection).state == State.PAUSED
    ingestion = by_hand.wait_for_ingestion(engine, booked.visit_id, seconds=0)
    assert ingestion is not None
    assert not ingestion.ingested
