"""Prometheus metrics of the store: they cover the whole fleet, so every API process reports the same values.

Use `max by (…)` over processes. The values are read from the database at each scrape.
"""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from storage.errors import DatabaseError
from storage.query.shapes.operations import Operations
from storage.query.shapes.status import IngestionStatus

_STATES = ("running", "paused", "stopped")


class StoreState(Collector):
    """Reads the database when it is scraped."""

    def __init__(
        self, ingestion: Callable[[], IngestionStatus], operations: Callable[[], Operations]
    ) -> None:
        """Both functions raise DatabaseError while the database does not respond."""
        self._ingestion = ingestion
        self._operations = operations

    def describe(self) -> Iterator[Metric]:
        """Empty: registering must not query the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The gauges; only `fleetprof_database_up` = 0 if the database does not respond."""
        try:
            ingestion, operations = self._ingestion(), self._operations()
        except DatabaseError:
            yield GaugeMetricFamily("fleetprof_database_up", "1 while the database responds.", 0)
            return
        yield GaugeMetricFamily("fleetprof_database_up", "1 while the database responds.", 1)
        yield from _ingestion(ingestion)
        yield from _campaigns(operations)
        yield from _store(operations)


def _ingestion(found: IngestionStatus) -> Iterator[Metric]:
    captures = found.captures
    yield GaugeMetricFamily(
        "fleetprof_captures_waiting", "Captures archived and not ingested.", captures.waiting
    )
    yield GaugeMetricFamily(
        "fleetprof_ingestion_lag_seconds",
        "Age of the oldest capture that is not ingested.",
        captures.oldest_waiting_s or 0.0,
    )
    yield GaugeMetricFamily(
        "fleetprof_captures_to_reprocess",
        "Captures to be reprocessed with better symbols.",
        captures.to_reprocess,
    )
    yield GaugeMetricFamily(
        "fleetprof_captures_quarantined",
        "Quarantined captures: they failed too often or can never be ingested.",
        captures.quarantined,
    )
    yield GaugeMetricFamily(
        "fleetprof_days_without_daily_rollup",
        "Days that ended more than an hour ago and have no daily rollup; one that stays is damaged.",
        found.days_without_daily_rollup,
    )


def _campaigns(found: Operations) -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "fleetprof_campaign_state",
        "1 for the state of a campaign: running, paused, stopped (by its failure brake, or a person).",
        labels=["campaign", "state"],
    )
    periods = GaugeMetricFamily(
        "fleetprof_campaign_period_seconds", "Length of a round.", labels=["campaign"]
    )
    drawn = GaugeMetricFamily(
        "fleetprof_campaign_last_round_timestamp_seconds",
        "Start of the last round that was drawn, seconds since 1970.",
        labels=["campaign"],
    )
    for campaign in found.campaigns:
        for state in _STATES:
            states.add_metric([campaign.name, state], campaign.state == state)
        periods.add_metric([campaign.name], campaign.period_s)
        if campaign.last_round_began is not None:
            drawn.add_metric([campaign.name], campaign.last_round_began)
    yield from (states, periods, drawn)
    visits = GaugeMetricFamily(
        "fleetprof_visits_last_hour", "Visits drawn for the last hour, by outcome.", labels=["outcome"]
    )
    for outcome, count in sorted(found.visits_last_hour.items()):
        visits.add_metric([outcome], count)
    yield visits


def _store(found: Operations) -> Iterator[Metric]:
    for name, text, value in (
        ("machines_enabled", "Machines of the inventory that may be visited.", found.machines_enabled),
        ("rollup_queue_visits", "Ingested visits that are not in rollups yet.", found.rollup_queue),
        (
            "partition_days_ahead",
            "Days after today that have partitions for facts; -1: today has none either.",
            found.partition_days_ahead,
        ),
        (
            "reprocessings",
            "Binaries whose better symbols have not reached every capture.",
            found.reprocessings,
        ),
        ("symbol_builds_under_way", "Symbol files being built.", found.builds_under_way),
        ("symbol_builds_broken", "Symbol files whose last build failed.", found.builds_failed),
        (
            "symbols_disputed",
            "Binaries for which gateways of two machines sent different symbols.",
            found.symbols_disputed,
        ),
        ("database_bytes", "Size of the database.", found.database_bytes),
    ):
        yield GaugeMetricFamily(f"fleetprof_{name}", text, value)
    if found.oldest_partition is not None:
        yield GaugeMetricFamily(
            "fleetprof_oldest_day_timestamp_seconds",
            "The oldest day with facts, seconds since 1970: where retention begins.",
            found.oldest_partition,
        )
