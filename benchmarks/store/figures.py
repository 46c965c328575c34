"""The figures of a run with their bars, as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.report import Bar, Report, at_least, at_most
from benchmarks.store.database import OPTIONS, STRATA

if TYPE_CHECKING:
    from benchmarks.store.run import Loaded

BARS: Final[dict[str, Bar]] = {
    "bulk_facts_per_s": at_least(3e6),
    "ingest_facts_per_s": at_least(4e5),
    "bytes_per_fact": at_most(12),
    "bytes_per_fact_sparse": at_most(30),
    "p95_ms_app_week_flame": at_most(50),
    "p95_ms_fleet_month_table": at_most(60),
    "p95_ms_raw_filter": at_most(250),
    "p95_ms_callers": at_most(60),
    "p95_ms_series_week": at_most(200),
    "p95_ms_waiting_flame": at_most(150),
    "ms_pprof_of_everything": at_most(1000),
    "api_ready_s": at_most(2),
    "api_rss_mib": at_most(250),
}
_NAMES: Final = {"default": "store", "full": "store-full"}


def report(loaded: Loaded) -> Report:
    """All measurements so far."""
    size = loaded.size
    found = Report(_NAMES.get(size.name, f"store-{size.name}"), peer="of what, and beside what")
    for key, (value, peer) in loaded.figures.items():
        found.add(key, value, BARS.get(key), peer=peer)
    found.note("history_hours", size.hours)
    found.note("facts_a_day", round(size.facts / size.hours * 24))
    found.note("new_stacks_share", size.new_share)
    found.note("strata", STRATA)
    found.note("campaigns", 2)
    found.note("server_settings", ", ".join(f"{name}={value}" for name, value in OPTIONS.items()))
    return found
