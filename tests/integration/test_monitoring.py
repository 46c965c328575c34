"""GIVEN real collectors and workers WHEN they are probed and scraped THEN they say what is so, and for how long."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, text

from services.errors import NotRunning
from services.monitoring import readiness_checks
from services.monitoring.metrics_address import MetricsAddress
from services.monitoring.probe_client import is_ok, probe
from storage import migrate
from storage.captures import Due
from symbolizer.worker.broker import make_sender
from tests.polling import until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.slow]


@contextmanager
def process(command: str, path: Path, log: Path, **environment: str) -> Iterator[MetricsAddress]:
    address = MetricsAddress(path=path)
    with log.open("wb") as output:
        started = subprocess.Popen(
            [sys.executable, "-P", "-m", "services", command, "--metrics-listen", str(address)],
            env={**os.environ, "FLEETPROF_STATE_DIR": str(path.parent), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield address
    finally:
        started.terminate()
        # Celery hears of SIGTERM only once it has begun.
        assert started.wait(60) in {0, -signal.SIGTERM}, log.read_text()


def readyz(address: MetricsAddress) -> str:
    try:
        return probe(address, "/readyz")[1]
    except NotRunning:
        return ""


def scraped(address: MetricsAddress) -> dict:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(probe(address, "/metrics")[1])
        for sample in family.samples
    }


def tasks(address: MetricsAddress) -> float:
    return scraped(address)["fleetprof_task_seconds_count", ("task", "ingest_capture")]


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_worker_counts_on_when_its_pools_processes_come_and_go(database_url, valkey_url, tmp_path):
    send = make_sender(valkey_url)
    settings = {
        "FLEETPROF_DATABASE_URL": database_url,
        "FLEETPROF_REDIS_URL": valkey_url,
        "FLEETPROF_WORKER_PROCESSES": "1",
    }
    log = tmp_path / "log"
    with process("worker", tmp_path / "o.sock", log, **settings) as address:
        until(lambda: is_ok(address, "/readyz"), f"{log} says more")
        send(Due(uuid4(), 1, 0, again=False))
        until(lambda: tasks(address) == 1, f"{log} says more")
        worker = next(
            int(folder.name)
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit()
            and str(address).encode() in _command(folder)
            and children(int(folder.name))
        )
        (killed,) = children(worker)
        os.kill(killed, signal.SIGKILL)
        until(lambda: children(worker) not in ([killed], []), f"{log} says more")
        send(Due(uuid4(), 1, 0, again=False))
        until(lambda: tasks(address) == 2, f"{log} says more")
        found = scraped(address)
        assert found["fleetprof_pool_processes",] == 1
        assert found["fleetprof_broker_up",] == 1
        assert found["fleetprof_queue_messages", ("queue", "new")] == 0
        assert is_ok(address, "/readyz")
    assert not (tmp_path / "o.sock").exists()


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_collector_is_ready_once_it_sees_the_campaigns(database_url, valkey_url, tmp_path):
    settings = {"FLEETPROF_DATABASE_URL": database_url, "FLEETPROF_REDIS_URL": valkey_url}
    log = tmp_path / "log"
    with process("collector", tmp_path / "o.sock", log, **settings) as address:
        until(lambda: is_ok(address, "/readyz"), f"{log} says more")
        found = scraped(address)
        assert found["fleetprof_job_duration_seconds_count", ("job_name", "draw")] >= 1
        assert found["fleetprof_server_failures_total", ("server", "database")] == 0


@pytest.mark.parametrize("command", ["collector", "worker"])
def test_without_its_database_a_process_lives_and_is_not_ready(
    command, server_directory, valkey_url, tmp_path
):
    nowhere = f"postgresql://unused@/none?host={server_directory}/nowhere"
    settings = {"FLEETPROF_DATABASE_URL": nowhere, "FLEETPROF_REDIS_URL": valkey_url}
    log = tmp_path / "log"
    with process(command, tmp_path / "o.sock", log, **settings) as address:
        until(lambda: is_ok(address, "/healthz"), f"{log} says more")
        assert '"database"' in readyz(address)
        assert is_ok(address, "/healthz")


def test_a_database_that_lacks_a_revision_is_not_ready(database_url: str, engine: Engine):
    check = readiness_checks.database(database_url)
    assert check() is None
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    assert f"lacks {len(migrate.pending(database_url))} schema revision" in str(check())


def test_an_address_that_others_reach_is_refused_unless_it_is_meant(database_url, valkey_url, tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "services", "worker", "--metrics-listen", "0.0.0.0:0"],
        env={
            **os.environ,
            "FLEETPROF_STATE_DIR": str(tmp_path),
            "FLEETPROF_DATABASE_URL": database_url,
            "FLEETPROF_REDIS_URL": valkey_url,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "FLEETPROF_METRICS_ALLOW_REMOTE" in done.stderr
