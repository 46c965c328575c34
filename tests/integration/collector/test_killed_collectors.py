"""GIVEN collectors in processes of their own WHEN one is killed or stopped THEN its visits are lost soon, and no other's."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, update

from collector import schedule_round, sweep, visit_records
from storage import campaigns, collector_leases
from storage.archive import Archive, capture_key
from storage.campaigns import EventPlan, State
from storage.inventory import NewMachine
from storage.schema import capture, collector_lease, coverage, covered_time, visit
from tests import fake_gateways
from tests.fake_gateways import capture_of, packed, serving
from tests.integration.collector.running_collector import (
    PACE,
    QUICK,
    a_collector,
    count,
    define,
    eventually,
    running,
)

pytestmark = pytest.mark.integration

LEASE_S = 1.0
LEASE = timedelta(seconds=LEASE_S)
LEASED = replace(PACE, lease_s=LEASE_S)
PROGRAM = """
import sys
from collector.run import Collector, Pace, run_until_signalled
from storage.archive import Archive
from storage.database import open_engine

url, archive, lease_s = sys.argv[1:]
pace = Pace(look_s=0.05, sweep_s=0.2, describe_s=0.2, lease_s=float(lease_s))
run_until_signalled(Collector(open_engine(url, application="test"), Archive(archive), lambda due: None, pace=pace))
"""


def campaign(name: str) -> campaigns.Definition:
    """Visits of a minute, scattered over a minute: soon some are under way while others have not begun."""
    return replace(
        QUICK,
        name=name,
        period_s=60.0,
        visits_per_round=60,
        events=(EventPlan("cpu", 60_000, rate_hz=99),),
        select_machines={"rack": name},
    )


def machines(name: str, address: str) -> list[NewMachine]:
    return [NewMachine(f"{name}-{n}", address, labels={"rack": name}) for n in range(60)]


@contextmanager
def collecting(engine: Engine, archive: Path) -> Iterator[subprocess.Popen[bytes]]:
    url = engine.url.render_as_string(hide_password=False)
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, url, str(archive), str(LEASE_S)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def outcomes(engine: Engine, collector_id: UUID) -> set[str]:
    """Of the visits that this run of a collector drew."""
    with engine.connect() as connection:
        rows = connection.execute(select(visit.c.outcome).where(visit.c.collector_id == collector_id))
        return set(rows.scalars())


def collectors(engine: Engine) -> set[UUID]:
    """Those that visits were drawn by."""
    with engine.connect() as connection:
        return set(connection.scalars(select(visit.c.collector_id)))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_its_visits_are_lost_and_those_of_others_go_on(engine, tmp_path, sockets, sent, how) -> None:
    with (
        serving(sockets / "g", fake_gateways.hangs_after_begin) as gateway,
        collecting(engine, tmp_path) as killed,
    ):
        define(engine, campaign("killed"), *machines("killed", gateway.address))
        eventually(lambda: gateway.plans)
        (gone,) = collectors(engine)
        with running(a_collector(engine, Archive(str(tmp_path)), sent.append, pace=LEASED)):
            eventually(lambda: count(engine, select(func.count()).select_from(collector_lease)) == 2)
            killed.send_signal(how)
            define(engine, campaign("living"), *machines("living", gateway.address))
            eventually(lambda: outcomes(engine, gone) == {"lost"})
            (living,) = eventually(lambda: collectors(engine) - {gone})
            assert "lost" not in outcomes(engine, living)
            assert count(engine, select(func.count()).select_from(collector_lease)) == 2


@pytest.mark.slow
def test_a_capture_that_comes_after_all_changes_nothing(engine, tmp_path, sockets, sent) -> None:
    """A collector that was stopped goes on with a visit that was called lost meanwhile: its capture is not recorded."""
    go_on = threading.Event()

    def slow(plan, context):
        go_on.wait(60)
        yield from fake_gateways.answers(plan, context)

    with serving(sockets / "g", slow) as gateway, collecting(engine, tmp_path) as stopped:
        define(engine, campaign("killed"), *machines("killed", gateway.address))
        eventually(lambda: gateway.plans)
        (gone,) = collectors(engine)
        with engine.begin() as connection:
            campaigns.set_state(connection, "killed", State.PAUSED, "no more visits begin")
        stopped.send_signal(signal.SIGSTOP)
        with running(a_collector(engine, Archive(str(tmp_path)), sent.append, pace=LEASED)):
            eventually(lambda: outcomes(engine, gone) == {"lost"})
        go_on.set()
        stopped.send_signal(signal.SIGCONT)
        eventually(lambda: list(tmp_path.glob("**/*.zst")))
        stopped.terminate()
        assert stopped.wait(30) == 0
    assert outcomes(engine, gone) == {"lost"}
    assert count(engine, select(func.count()).select_from(capture)) == 0
    with engine.connect() as connection:
        drawn, failed = connection.execute(
            select(func.sum(coverage.c.drawn), func.sum(coverage.c.failed))
        ).one()
    assert drawn == failed == count(engine, select(func.count()).select_from(visit))


def test_a_capture_that_was_archived_before_its_collector_died_is_adopted(engine, archive) -> None:
    """Also one of the last seconds; what is not in the archive is lost, and time that the round had left is not covered."""
    now = datetime.now(UTC)
    define(engine, campaign("killed"), *machines("killed", "unix:/nothing"))
    gone, judge = uuid4(), uuid4()
    with engine.begin() as connection:
        collector_leases.renew(connection, gone, LEASE)
        drawn = schedule_round.draw_round(
            connection, campaigns.get(connection, "killed"), now, np.random.default_rng(1), gone
        )
        assert drawn is not None
        with_capture = drawn[0].visit
        connection.execute(
            update(visit).where(visit.c.visit_id == with_capture.visit_id).values(drawn_at=func.now())
        )
    archive.put(
        capture_key(with_capture.day, with_capture.visit_id), packed(capture_of(with_capture.visit_id.bytes))
    )
    with engine.begin() as connection:
        collector_leases.renew(connection, judge, LEASE)
    assert sweep.end_orphans(engine, archive, judge, LEASE, now=now) == ([], 0), "its lease runs"
    with engine.begin() as connection:
        connection.execute(
            update(collector_lease)
            .where(collector_lease.c.collector_id == gone)
            .values(alive_until=collector_lease.c.alive_until - 2 * LEASE)
        )
    assert sweep.end_orphans(engine, archive, judge, LEASE, now=now) == ([], 0), "the judge has just begun"
    with engine.begin() as connection:
        connection.execute(
            update(collector_lease)
            .where(collector_lease.c.collector_id == judge)
            .values(since=collector_lease.c.since - 2 * LEASE)
        )
    adopted, lost = sweep.end_orphans(engine, archive, judge, LEASE, now=now)
    assert (adopted, lost) == ([with_capture.visit_id], len(drawn) - 1)
    assert sweep.end_orphans(engine, archive, judge, LEASE, now=now) == ([], 0)
    with engine.connect() as connection:
        ends = connection.scalar(select(covered_time.c.ends))
    assert ends is not None
    assert ends < now + timedelta(seconds=5), "not the whole round"


def test_a_lease_that_ran_out_begins_anew(engine) -> None:
    """A collector that the database was away for judges no other before the others have had the time to renew."""
    judge = uuid4()
    with engine.begin() as connection:
        collector_leases.renew(connection, judge, LEASE)
        connection.execute(
            update(collector_lease).values(
                since=func.now() - 10 * LEASE, alive_until=func.clock_timestamp() - LEASE
            )
        )
        collector_leases.renew(connection, judge, LEASE)
        since = connection.scalar(select(func.clock_timestamp() - collector_lease.c.since))
    assert since < LEASE


def test_a_pause_ends_the_visits_that_wait(engine, archive) -> None:
    """And resuming begins none of them: only what is under way may still bring its capture."""
    now = datetime.now(UTC)
    define(engine, campaign("paused"), *machines("paused", "unix:/nothing"))
    with engine.begin() as connection:
        drawn = schedule_round.draw_round(
            connection, campaigns.get(connection, "paused"), now, np.random.default_rng(1), uuid4()
        )
    assert drawn is not None
    assert visit_records.open_visit(engine, drawn[0], now) is None
    with engine.begin() as connection:
        campaigns.set_state(connection, "paused", State.PAUSED, "by hand")
    with engine.connect() as connection:
        ended = connection.execute(select(visit.c.visit_id, visit.c.outcome, visit.c.detail)).all()
    assert {row.visit_id for row in ended if row.outcome == "drawn"} == {drawn[0].visit_id}
    assert {row.detail for row in ended if row.outcome == "lost"} == {
        "The campaign was paused before the machine was called."
    }
    with engine.begin() as connection:
        campaigns.set_state(connection, "paused", State.RUNNING, "by hand")
    assert "ended before" in (visit_records.open_visit(engine, drawn[1], now) or "")
    with engine.connect() as connection:
        totals = connection.execute(select(func.sum(coverage.c.drawn), func.sum(coverage.c.failed))).one()
    assert totals == (len(drawn), len(drawn) - 1)
