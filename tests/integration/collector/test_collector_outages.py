"""GIVEN a broker, an archive, a collector or PostgreSQL that is gone WHEN visits are made THEN no capture is lost and none hangs."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from structlog.testing import capture_logs

from collector import schedule_round, sweep
from services.embedded.postgres import EmbeddedPostgres
from storage import campaigns, inventory, migrate
from storage.archive import Archive, capture_key
from storage.database import open_engine
from storage.inventory import NewMachine
from storage.schema import capture, visit
from tests import fake_gateways
from tests.fake_gateways import capture_of, packed, serving
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


@pytest.mark.slow
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
    assert said == ["the broker is unavailable, waiting for it", "the broker is available again"]


def test_a_capture_whose_collector_died_before_its_row_is_adopted(engine, archive, sent):
    now = datetime.now(UTC)
    define(engine, QUICK, NewMachine("m1", "unix:/nothing"))
    with engine.begin() as connection:
        campaign = campaigns.get(connection, "fleet")
        found = inventory.find(connection, "m1")
        with_blob, without = (
            schedule_round.by_hand(connection, campaign, found, now - timedelta(minutes=5)).visit
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
        yield from fake_gateways.hangs_after_begin(plan, context)

    with serving(sockets / "g", hanging) as gateway:
        fleet = replace(QUICK, period_s=2.0)
        define(engine, fleet, *(NewMachine(f"m{n}", gateway.address) for n in range(4)))
        with running(a_collector(engine, archive, sent.append)):
            eventually(calling.is_set)
    with engine.connect() as connection:
        rows = connection.execute(select(visit.c.outcome, visit.c.detail)).all()
    assert {row.outcome for row in rows} <= {"lost", "timeout"}
    assert any("stopped during the visit" in row.detail for row in rows)


@pytest.mark.slow
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
                eventually(lambda: any("database is unavailable" in line["event"] for line in lines))
                server.start()
                before = len(sent)
                eventually(lambda: len(sent) > before + 1)
                with engine.connect() as connection:
                    ids = connection.execute(select(capture.c.visit_id)).scalars().all()
                eventually(lambda: set(ids) <= set(sent))
                os.kill(server.pid, signal.SIGKILL)
                eventually(lambda: lines[-1]["event"].startswith("the database is unavailable"))
        assert lines[-1]["event"] == "collector has ended", "stopping does not wait for the database"
        assert sum("database is unavailable" in line["event"] for line in lines) <= 6, "said, not repeated"
        assert not any(line.get("exc_info") for line in lines)
        engine.dispose()
    finally:
        server.stop()
