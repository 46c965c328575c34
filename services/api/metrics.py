"""What the API tells Prometheus about itself and about the way of captures into the store."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from storage.errors import DatabaseError
from storage.query.cache_size import CacheSize
from storage.query.shapes.status import LandingStatus


class Metrics:
    """The metrics of one app; a registry of its own, so that two apps of a process do not mix."""

    def __init__(
        self, landing: Callable[[], LandingStatus], caches: Callable[[], Mapping[str, CacheSize]]
    ) -> None:
        """`landing` says what waits to be landed, or raises DatabaseError; `caches` what is kept between answers."""
        self._registry = CollectorRegistry()
        self.requests = Histogram(
            "fleetprof_http_request_seconds",
            "Time to answer an HTTP request.",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self._registry.register(_Landing(landing))
        self._registry.register(_Caches(caches))
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """All of it in Prometheus' text format; asks the database."""
        return generate_latest(self._registry)


class _Landing(Collector):
    """Reads the database when it is scraped."""

    def __init__(self, landing: Callable[[], LandingStatus]) -> None:
        self._landing = landing

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing: registering must not ask the database."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauges of landing, or only that the database does not answer."""
        try:
            found = self._landing()
        except DatabaseError:
            yield GaugeMetricFamily("fleetprof_database_up", "1 while the database answers.", 0)
            return
        yield GaugeMetricFamily("fleetprof_database_up", "1 while the database answers.", 1)
        yield GaugeMetricFamily(
            "fleetprof_captures_waiting", "Captures archived and not landed.", found.captures.waiting
        )
        yield GaugeMetricFamily(
            "fleetprof_landing_lag_seconds",
            "Age of the oldest capture that waits.",
            found.captures.oldest_waiting_s or 0.0,
        )
        yield GaugeMetricFamily(
            "fleetprof_captures_set_aside",
            "Captures that failed too often to be tried again.",
            found.captures.set_aside,
        )
        yield GaugeMetricFamily(
            "fleetprof_days_unfolded",
            "Days over for an hour and still not merged into cells of their own; one that stays is damaged.",
            found.days_unfolded,
        )


class _Caches(Collector):
    """How much is kept between answers: it grows with the dictionaries of the store, and with nothing else."""

    def __init__(self, caches: Callable[[], Mapping[str, CacheSize]]) -> None:
        self._caches = caches

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Rows and bytes by cache."""
        rows = GaugeMetricFamily("fleetprof_cache_rows", "Rows kept between answers.", labels=["cache"])
        size = GaugeMetricFamily("fleetprof_cache_bytes", "About how much they take.", labels=["cache"])
        for name, held in self._caches().items():
            rows.add_metric([name], held.rows)
            size.add_metric([name], held.bytes)
        yield rows
        yield size
