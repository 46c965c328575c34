"""GIVEN every process's metrics WHEN somebody reads docs/operations.md THEN all are there, and nothing else is."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from collector import events as collector_events
from collector.visit import VisitResult
from services.api.metrics import Metrics
from services.monitoring import queue_lengths
from services.monitoring.collector_metrics import LATEST_LOOK_S, CollectorMetrics
from services.monitoring.worker_metrics import WorkerMetrics
from storage.errors import ArchiveUnavailable, BadCapture, DatabaseUnavailable
from storage.ingest.errors import FormatTooNew
from storage.query.answers.status import CapturesStatus
from storage.query.shapes.operations import CampaignOperation, Operations
from storage.query.shapes.status import IngestionStatus
from storage.schema import Outcome
from storage.snapshots.decoded_cache import CacheSize
from symbolizer.worker import events as worker_events
from symbolizer.worker.broker import BUILD_SYMCACHE, INGEST_CAPTURE

ROOT = Path(__file__).parents[4]
OPERATIONS = Operations(
    campaigns=(CampaignOperation("fleet", "stopped", 600.0, 1_800_000_000.0), CampaignOperation("new", "running", 60.0, None)),
    machines_enabled=3,
    visits_last_hour={"answered": 2},
    rollup_queue=1,
    partition_days_ahead=-1,
    oldest_partition=1_700_000_000.0,
    reprocessings=0,
    builds_under_way=0,
    builds_failed=1,
    symbols_disputed=1,
    database_bytes=1,
)  # fmt: skip


def samples(text: bytes | str) -> dict:
    """By name and labels; the text must be what Prometheus reads."""
    spelled = text.decode() if isinstance(text, bytes) else text
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(spelled)
        for sample in family.samples
    }


def names(text: bytes | str) -> set[str]:
    spelled = text.decode() if isinstance(text, bytes) else text
    found = set()
    for family in text_string_to_metric_families(spelled):
        found.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return {name for name in found if not name.startswith("process_")}


def api_metrics() -> Metrics:
    ingestion = IngestionStatus(CapturesStatus(1, 2.0, 3, 4), 0)
    return Metrics(
        lambda: ingestion,
        lambda: OPERATIONS,
        lambda: {"stacks": CacheSize(1, 2)},
        lambda: 3,
        streams=lambda: 5,
    )


def collector_metrics() -> CollectorMetrics:
    metrics = CollectorMetrics()
    for event in (
        collector_events.RoundDrawn("fleet", 7, 2, late_s=0.5),
        collector_events.VisitEnded("fleet", "m1", visited(Outcome.TIMEOUT), late_s=0.25),
        collector_events.CampaignStopped("fleet", "Why."),
        collector_events.JobDone("draw", 0.01),
        collector_events.Swept(1, 2),
        collector_events.ServerAway("broker"),
        collector_events.VisitsCalledOff(3),
        collector_events.LakeMaintained(due=2, kept=1, whole=False),
    ):
        metrics.watch(event)
    return metrics


def visited(outcome: Outcome) -> VisitResult:
    began = datetime(2026, 11, 21, tzinfo=UTC)
    return VisitResult(outcome, "Why.", began, began + timedelta(seconds=4))


def worker_metrics(monkeypatch: pytest.MonkeyPatch) -> WorkerMetrics:
    monkeypatch.setattr(queue_lengths, "lengths", lambda _: dict.fromkeys(queue_lengths.KINDS, 5))
    return WorkerMetrics(2, "redis://nowhere")


def gateway_names() -> set[str]:
    from gateway.daemon import _capture_metrics
    from gateway.served_visits import ServedVisits
    from gateway.serving.daemon_metrics import render_metrics
    from gateway.serving.socket_activation import SocketActivator

    doorman = SocketActivator([], lambda _: 0, idle_s=1.0, busy=lambda: False, on_ready=lambda: None)
    return names(doorman._metrics()) | names(render_metrics(_capture_metrics(ServedVisits())))


def documented() -> set[str]:
    text = (ROOT / "docs/operations.md").read_text().partition("## Metrics")[2]
    cells = re.findall(r"^\| (`fleetprof_[^|]*) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(fleetprof_\w+)", cell)}


def exported(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    metrics = api_metrics()
    metrics.requests.labels("GET", "/", "200").observe(1.0)
    parts: Iterable[set[str]] = (
        names(metrics.text()),
        names(collector_metrics().text()),
        names(worker_metrics(monkeypatch).text()),
        gateway_names(),
    )
    return set().union(*parts)


def test_every_metric_is_documented_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    assert exported(monkeypatch) == documented()


def test_names_follow_prometheus_conventions(monkeypatch: pytest.MonkeyPatch):
    found = exported(monkeypatch)
    assert all(re.fullmatch(r"fleetprof_[a-z][a-z_]*", name) for name in found)
    assert not [name for name in found if re.search(r"_(ms|kb|mb|minutes|hours)(_|$)", name)]


def test_a_lake_that_fails_is_seen():
    metrics = collector_metrics()
    found = samples(metrics.text())
    assert found["fleetprof_lake_days_due",] == 2
    assert found["fleetprof_lake_days_kept",] == 1
    assert found["fleetprof_lake_last_success_timestamp_seconds",] == 0
    assert found["fleetprof_job_duration_seconds_count", ("job_name", "lake")] == 0
    metrics.watch(collector_events.LakeMaintained(due=0, kept=1, whole=True))
    found = samples(metrics.text())
    assert found["fleetprof_lake_days_due",] == 0
    assert found["fleetprof_lake_last_success_timestamp_seconds",] > 0


def test_what_a_collector_did_is_counted():
    found = samples(collector_metrics().text())
    assert found["fleetprof_visits_total", ("campaign", "fleet"), ("outcome", "timeout")] == 1
    assert found["fleetprof_visits_total", ("campaign", "fleet"), ("outcome", "answered")] == 0
    assert found["fleetprof_visits_drawn_total", ("campaign", "fleet")] == 2
    assert found["fleetprof_round_lateness_seconds", ("campaign", "fleet")] == 0.5
    assert found["fleetprof_visit_seconds_sum",] == 4
    assert found["fleetprof_visits_lost_total",] == 2
    assert found["fleetprof_server_failures_total", ("server", "database")] == 0
    assert found["fleetprof_server_failures_total", ("server", "broker")] == 1


def test_a_collector_that_looks_for_rounds_is_ready_and_one_that_ceased_to_is_not():
    now = [100.0]
    metrics = CollectorMetrics(clock=lambda: now[0])
    assert "not read" in str(metrics.looks())
    metrics.watch(collector_events.JobDone("sweep", 0.1))
    assert metrics.looks() is not None
    metrics.watch(collector_events.JobDone("draw", 0.1))
    now[0] += LATEST_LOOK_S
    assert metrics.looks() is None
    now[0] += 1
    assert f"{LATEST_LOOK_S + 1:.0f} s ago" in str(metrics.looks())


def test_what_a_worker_did_is_counted(monkeypatch: pytest.MonkeyPatch):
    metrics = worker_metrics(monkeypatch)
    metrics.use_slot(1)
    metrics.watch(worker_events.TaskEnded(INGEST_CAPTURE, 0.2, failed=False))
    metrics.watch(worker_events.TaskEnded(BUILD_SYMCACHE, 3.0, failed=True))
    metrics.watch(worker_events.CapturesIngested(("ingested", "ingested", "already"), 0, 30, 12, 0.2))
    for error in (
        BadCapture("x"),
        FormatTooNew(2, 1),
        DatabaseUnavailable("x"),
        ArchiveUnavailable("x"),
        KeyError("x"),
    ):
        metrics.watch(worker_events.CaptureFailed(error, quarantined=isinstance(error, BadCapture)))
    found = samples(metrics.text())
    assert found["fleetprof_captures_ingested_total", ("outcome", "ingested")] == 2
    assert found["fleetprof_captures_ingested_total", ("outcome", "already")] == 1
    assert found["fleetprof_facts_ingested_total",] == 12
    assert found["fleetprof_task_failures_total", ("task", "build_symcache")] == 1
    assert found["fleetprof_ingestion_seconds_count", ("generation", "first")] == 1
    assert {
        label[1]: value for (name, *labels), value in found.items() if name == "fleetprof_capture_failures_total" for label in labels
    } == {"bad_capture": 1, "newer_format": 1, "database": 1, "archive": 1, "memory": 0, "other": 1}  # fmt: skip
    assert found["fleetprof_captures_rejected_total",] == 2
    assert found["fleetprof_queue_messages", ("queue", "new")] == 5
    assert "not accept tasks" in str(metrics.has_workers())


def test_a_store_that_is_away_says_only_that():
    def away() -> IngestionStatus:
        raise DatabaseUnavailable("It is away.")

    metrics = Metrics(away, lambda: OPERATIONS, dict)
    found = samples(metrics.text())
    assert found["fleetprof_database_up",] == 0
    assert not any(name.startswith("fleetprof_campaign") for name, *_ in found)


def test_the_store_says_what_its_campaigns_do():
    found = samples(api_metrics().text())
    assert found["fleetprof_campaign_state", ("campaign", "fleet"), ("state", "stopped")] == 1
    assert found["fleetprof_campaign_state", ("campaign", "fleet"), ("state", "running")] == 0
    assert ("fleetprof_campaign_last_round_timestamp_seconds", ("campaign", "new")) not in found
    assert found["fleetprof_database_connections_in_use",] == 3
    assert found["fleetprof_data_streams_open",] == 5


def test_two_registries_of_one_process_do_not_mix():
    assert isinstance(api_metrics()._registry, CollectorRegistry)
    assert samples(collector_metrics().text())["fleetprof_visits_lost_total",] == 2
    assert samples(collector_metrics().text())["fleetprof_visits_lost_total",] == 2
