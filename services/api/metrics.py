"""Prometheus metrics of the API itself and of the ingestion of captures."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from services.api.response_cache import ResponseCache
from services.monitoring.store_metrics import StoreState
from storage.query.shapes.operations import Operations
from storage.query.shapes.status import IngestionStatus
from storage.snapshots.decoded_cache import CacheSize


class Metrics:
    """The metrics of one app, in its own registry: two apps of a process do not mix."""

    def __init__(
        self,
        ingestion: Callable[[], IngestionStatus],
        operations: Callable[[], Operations],
        caches: Callable[[], Mapping[str, CacheSize]],
        connections: Callable[[], int] | None = None,
        responses: ResponseCache | None = None,
        *,
        streams: Callable[[], int] | None = None,
    ) -> None:
        """`ingestion` and `operations` return the store's state or raise DatabaseError; `caches` the sizes of caches.

        `connections`: database connections in use; None: unknown. `responses`: the response cache. `streams`: open
        streams of the data API; None: the data API is not served.
        """
        # `_created` series would add half as many series again; `process_start_time_seconds` has their information.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no type for it
        self._registry = CollectorRegistry()
        self.requests = Histogram(
            "fleetprof_http_request_seconds",
            "Response time of HTTP requests.",
            ("method", "route", "status"),
            registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self._registry.register(StoreState(ingestion, operations))
        if connections is not None:
            Gauge(
                "fleetprof_database_connections_in_use",
                "Database connections in use by this process.",
                registry=self._registry,
            ).set_function(connections)
        if streams is not None:
            Gauge(
                "fleetprof_data_streams_open",
                "Open streams of the data API, by gRPC or HTTP.",
                registry=self._registry,
            ).set_function(streams)
        self._registry.register(_Caches(caches))
        self._registry.register(_ResponseLookups(responses or ResponseCache(0, ttl_s=0.0)))
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format; queries the database."""
        return generate_latest(self._registry)


class _ResponseLookups(Collector):
    """Lookups in the response cache."""

    def __init__(self, responses: ResponseCache) -> None:
        self._responses = responses

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Hits and misses."""
        lookups = CounterMetricFamily(
            "fleetprof_response_cache_lookups", "Lookups in the response cache.", labels=["result"]
        )
        lookups.add_metric(["hit"], self._responses.hits)
        lookups.add_metric(["miss"], self._responses.misses)
        yield lookups


class _Caches(Collector):
    """Sizes of the caches that live between answers. They grow only with the store's dictionaries."""

    def __init__(self, caches: Callable[[], Mapping[str, CacheSize]]) -> None:
        self._caches = caches

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Rows and bytes by cache."""
        rows = GaugeMetricFamily(
            "fleetprof_cache_rows", "Rows in caches that outlive a query.", labels=["cache"]
        )
        size = GaugeMetricFamily(
            "fleetprof_cache_bytes", "Approximate size of these caches.", labels=["cache"]
        )
        for name, held in self._caches().items():
            rows.add_metric([name], held.rows)
            size.add_metric([name], held.bytes)
        yield rows
        yield size
