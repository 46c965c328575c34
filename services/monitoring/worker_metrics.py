"""A worker's Prometheus metrics and readiness: the pool's processes count, the parent serves."""

from collections.abc import Iterator
from pathlib import Path
from resource import getpagesize
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import RedisError

from services.monitoring import queue_lengths
from services.monitoring.readiness import Check
from services.monitoring.shared_counters import CounterFamily, HistogramFamily, SharedCounters
from storage.errors import ArchiveError, BadCapture, BlobTooLarge, DatabaseError
from storage.ingest.errors import FormatTooNew
from symbolizer.worker import events
from symbolizer.worker.broker import BUILD_SYMCACHE, INGEST_CAPTURE, NAME_FUNCTIONS

_TASKS = {
    INGEST_CAPTURE: "ingest_capture",
    BUILD_SYMCACHE: "build_symcache",
    NAME_FUNCTIONS: "name_functions",
}
_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (FormatTooNew, "newer_format"),
    (BadCapture, "bad_capture"),
    (BlobTooLarge, "bad_capture"),
    (ArchiveError, "archive"),
    (DatabaseError, "database"),
    (MemoryError, "memory"),
)
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_SPARE_SLOTS = 8
"""A dead process may still hold its place when its successor starts, and a pool can be enlarged."""

_FAMILIES = (
    HistogramFamily("fleetprof_task_seconds", "Time of a task, also of a failed one.", "task", tuple(_TASKS.values()), _SECONDS),
    CounterFamily("fleetprof_task_failures", "Failed tasks.", "task", tuple(_TASKS.values())),
    HistogramFamily(
        "fleetprof_ingestion_seconds",
        "Time from the lease to the commit of captures that were ingested together.",
        "generation",
        ("first", "reprocessed"),
        _SECONDS,
    ),
    CounterFamily(
        "fleetprof_captures_ingested",
        "Captures by result of their ingestion; already: another worker was faster, expired: their day was dropped.",
        "outcome",
        ("ingested", "already", "expired"),
    ),
    CounterFamily(
        "fleetprof_capture_failures",
        "Failed ingestions of a capture, by the cause.",
        "error",
        ("newer_format", "bad_capture", "archive", "database", "memory", "other"),
    ),
    CounterFamily("fleetprof_facts_ingested", "Facts ingested: (profile, stack, samples)."),
    CounterFamily("fleetprof_samples_ingested", "Samples ingested."),
    CounterFamily("fleetprof_captures_rejected", "Captures quarantined at once: they can never be ingested."),
    CounterFamily("fleetprof_functions_named", "Functions that were ingested without a name and named in place."),
    CounterFamily(
        "fleetprof_symbol_builds",
        "Debug files processed; pending: another worker builds it.",
        "outcome",
        ("built", "pending", "failed"),
    ),
)  # fmt: skip


class WorkerMetrics(Collector):
    """Metrics of one worker; create before its pool forks.

    `watch` counts in the calling process, after that has claimed its place with `use_slot`.
    """

    def __init__(self, processes: int, broker_url: str) -> None:
        self._counters = SharedCounters(_FAMILIES, processes + _SPARE_SLOTS)
        self._broker_url = broker_url
        self._wanted = processes
        self._pool: Any = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def use_slot(self, place: int) -> None:
        """Claim a place in the pool for this process, from 0."""
        self._counters.use_slot(place)

    def has_pool(self, pool: Any) -> None:
        """Note that the worker accepts tasks now; `pool` is Celery's."""
        self._pool = pool

    def watch(self, event: events.Event) -> None:
        """Count an event of this process."""
        match event:
            case events.TaskEnded():
                task = _TASKS.get(event.task, event.task)
                self._counters.observe("fleetprof_task_seconds", task, event.seconds)
                if event.failed:
                    self._counters.add("fleetprof_task_failures", task)
            case events.CapturesIngested():
                generation = "reprocessed" if event.reprocessed * 2 > len(event.outcomes) else "first"
                self._counters.observe("fleetprof_ingestion_seconds", generation, event.seconds)
                for outcome in event.outcomes:
                    self._counters.add("fleetprof_captures_ingested", outcome)
                self._counters.add("fleetprof_facts_ingested", amount=event.facts)
                self._counters.add("fleetprof_samples_ingested", amount=event.samples)
            case events.CaptureFailed():
                kind = next((kind for error, kind in _ERRORS if isinstance(event.error, error)), "other")
                self._counters.add("fleetprof_capture_failures", kind)
                if event.quarantined:
                    self._counters.add("fleetprof_captures_rejected")
            case events.SymbolsBuilt():
                self._counters.add("fleetprof_symbol_builds", event.outcome)
            case events.FunctionsNamed():
                self._counters.add("fleetprof_functions_named", amount=event.functions)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format; queries the broker."""
        return generate_latest(self._registry)

    def describe(self) -> Iterator[Metric]:
        """Empty: registering must not query the broker."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The processes' counts, the pool, and the broker's queues."""
        yield from self._counters.collect()
        pids = self._pids()
        yield GaugeMetricFamily("fleetprof_pool_processes", "Running processes of the pool.", len(pids))
        yield GaugeMetricFamily(
            "fleetprof_pool_processes_wanted", "Configured processes of the pool.", self._wanted
        )
        yield GaugeMetricFamily(
            "fleetprof_pool_resident_bytes",
            "Resident memory of the pool's processes; shared memory counts in each.",
            sum(map(_resident, pids)),
        )
        try:
            waiting = queue_lengths.lengths(self._broker_url)
        except (RedisError, OSError):
            yield GaugeMetricFamily("fleetprof_broker_up", "1 while the broker responds.", 0)
            return
        yield GaugeMetricFamily("fleetprof_broker_up", "1 while the broker responds.", 1)
        depth = GaugeMetricFamily(
            "fleetprof_queue_messages",
            "Messages that no worker has received, by kind of work.",
            labels=["queue"],
        )
        for kind in queue_lengths.KINDS:
            depth.add_metric([kind], waiting[kind])
        yield depth

    @property
    def has_workers(self) -> Check:
        """Check that the pool has started and has live processes."""

        def check() -> str | None:
            if self._pool is None:
                return "The worker does not accept tasks yet."
            return None if self._pids() else "No process of the worker's pool is running."

        return check

    def _pids(self) -> list[int]:
        """Live processes of the pool; they may start or end meanwhile."""
        if self._pool is None:
            return []
        found = list(self._pool.info["processes"])
        return [pid for pid in found if pid and Path(f"/proc/{pid}").exists()]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * getpagesize()
    except (OSError, IndexError, ValueError):
        return 0  # ended meanwhile
