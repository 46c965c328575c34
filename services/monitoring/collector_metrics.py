"""The collector's Prometheus metrics and readiness."""

from collections.abc import Callable
from time import monotonic, time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from collector import events
from services.monitoring.readiness import Check
from storage.schema import Outcome

_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
LATEST_LOOK_S = 60.0
"""Age of the last search for begun rounds from which the collector counts as stuck; it searches every second."""


class CollectorMetrics:
    """Counts a collector's events; pass `watch` as its watcher."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        # `_created` series would add half as many again; `process_start_time_seconds` has the same information.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no type for it
        self._registry = CollectorRegistry()
        self._clock = clock
        self._begun = clock()
        self._looked: float | None = None
        r = self._registry
        self._visits = Counter(
            "fleetprof_visits", "Visits that ended, by outcome.", ("campaign", "outcome"), registry=r
        )
        self._called_off = Counter(
            "fleetprof_visits_called_off",
            "Visits drawn and not made: the collector was stopped, or too late.",
            registry=r,
        )
        self._visit_late = Histogram(
            "fleetprof_visit_lateness_seconds",
            "From the scheduled time of a visit to its call.",
            registry=r,
            buckets=_SECONDS,
        )
        self._visit_took = Histogram(
            "fleetprof_visit_seconds", "From the call to the end of a visit.", registry=r, buckets=_SECONDS
        )
        self._samples = Counter("fleetprof_visit_samples", "Samples of all visits.", registry=r)
        self._bytes = Counter(
            "fleetprof_visit_bytes", "Bytes of the compressed captures of all visits.", registry=r
        )
        self._rounds = Counter("fleetprof_rounds_drawn", "Rounds drawn.", ("campaign",), registry=r)
        self._drawn = Counter("fleetprof_visits_drawn", "Visits drawn.", ("campaign",), registry=r)
        self._round_late = Gauge(
            "fleetprof_round_lateness_seconds",
            "Time from the start of the last round drawn to its draw.",
            ("campaign",),
            registry=r,
        )
        self._stops = Counter(
            "fleetprof_campaign_stops",
            "Times the failure brake stopped a campaign.",
            ("campaign",),
            registry=r,
        )
        self._adopted = Counter(
            "fleetprof_captures_adopted",
            "Captures in the archive without a row, recorded by the sweep after their collector had ended.",
            registry=r,
        )
        self._lost = Counter(
            "fleetprof_visits_lost", "Visits recorded as lost because their collector had ended.", registry=r
        )
        self._job_seconds = Histogram(
            "fleetprof_job_duration_seconds",
            "Time of one run of a periodic job: draw, describe, sweep, merge, tidy (partitions, retention, orphans), ask, lake.",
            ("job_name",),
            registry=r,
            buckets=_SECONDS,
        )
        self._job_last_success = Gauge(
            "fleetprof_job_last_success_timestamp_seconds",
            "Last success of each periodic job, seconds since 1970.",
            ("job_name",),
            registry=r,
        )
        self._away = Counter(
            "fleetprof_server_failures",
            "Failed requests to a server, which are retried: database, broker.",
            ("server",),
            registry=r,
        )
        self._lake_due = Gauge(
            "fleetprof_lake_days_due", "Closed days whose current state is not in the lake.", registry=r
        )
        self._lake_kept = Gauge(
            "fleetprof_lake_days_kept",
            "Days that are not replaced, because the lake has more of them than the database.",
            registry=r,
        )
        self._lake_at = Gauge(
            "fleetprof_lake_last_success_timestamp_seconds",
            "When everything due was exported and old days were deleted, seconds since 1970; 0: not since the start.",
            registry=r,
        )
        for server in ("database", "broker"):
            self._away.labels(server)
        for job_name in events.JOBS:
            self._job_seconds.labels(job_name)
        ProcessCollector(registry=r)

    def watch(self, event: events.Event) -> None:
        """Count an event; thread-safe."""
        match event:
            case events.VisitEnded():
                self._ended(event)
            case events.RoundDrawn():
                self._rounds.labels(event.campaign).inc()
                self._drawn.labels(event.campaign).inc(event.visits)
                self._round_late.labels(event.campaign).set(event.late_s)
                for outcome in Outcome:  # start at 0, so that the first failure is an increase
                    if outcome is not Outcome.DRAWN:
                        self._visits.labels(event.campaign, str(outcome))
            case events.VisitsCalledOff():
                self._called_off.inc(event.visits)
            case events.CampaignStopped():
                self._stops.labels(event.campaign).inc()
            case events.JobDone():
                self._job_seconds.labels(event.job_name).observe(event.seconds)
                self._job_last_success.labels(event.job_name).set(time())
                if event.job_name == "draw":
                    self._looked = self._clock()
            case events.Swept():
                self._adopted.inc(event.adopted)
                self._lost.inc(event.lost)
            case events.LakeMaintained():
                self._lake_due.set(event.due)
                self._lake_kept.set(event.kept)
                if event.whole:
                    self._lake_at.set(time())
            case events.ServerAway():
                self._away.labels(event.server).inc()

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    @property
    def looks(self) -> Check:
        """Check that the collector reads the campaigns and draws rounds when they begin."""

        def check() -> str | None:
            if self._looked is None:
                return f"The collector has not read the campaigns yet, {self._clock() - self._begun:.0f} s after its start."
            silent = self._clock() - self._looked
            if silent > LATEST_LOOK_S:
                return f"The collector last searched for begun rounds {silent:.0f} s ago."
            return None

        return check

    def _ended(self, event: events.VisitEnded) -> None:
        visited = event.visited
        self._visits.labels(event.campaign, str(visited.outcome)).inc()
        self._visit_late.observe(event.late_s)
        self._visit_took.observe((visited.ended_at - visited.started_at).total_seconds())
        if visited.received is not None:
            self._samples.inc(visited.received.samples)
            self._bytes.inc(len(visited.received.blob))
