"""Results of the benchmarks that the arithmetic starts from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

RESULTS: Final = Path(__file__).parents[1] / "results"
MICRO: Final = 1e-6
VISIT_ROW_BYTES: Final = 920
"""Bytes per visit in `visit`, `capture`, `capture_segment`, `coverage` and `exposure`. This and the next two were
measured by hand for a day with 3 946 visits over 24 hours: the benchmark's fleet, 2 campaigns, 8 strata, 10⁶ stacks,
28.8 million facts."""
BUCKET_BYTES: Final = 10.0
"""Bytes per fact in buckets of 4, 16 and 64 days (`rollup_long`) with only that day. Upper bound: days share stacks."""
WHOLE_DAY_BYTES: Final = 4.7
"""Bytes per fact in the cells of that day."""

Results: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Figures by the name of the benchmark and of the figure."""


def results(folder: Path = RESULTS) -> Results:
    """Figures of the last runs."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


@dataclass(frozen=True)
class Measured:
    """Input of the arithmetic."""

    visit_cpu_s: float
    """CPU seconds of the gateway on a busy machine of two CPUs, including its start and its samples in the kernel."""
    samples_per_visit: float
    """Samples in a synthetic fleet with 64 logical CPUs per machine."""
    facts_per_visit: float
    raw_bytes_per_sample: float
    halfwidth: float
    """Relative half-width for a 1 % function after one day of the default campaign."""
    ingest_s: float
    """CPU seconds per fact in workers; likewise the next fields."""
    roll_s: float
    """CPU seconds in the collector: merging and daily rollups."""
    server_s: float
    export_s: float
    profile_bytes: float
    """Bytes per fact in PostgreSQL: profiles, chunks and lines; likewise the next fields."""
    hour_bytes: float
    """Bytes in hourly cells."""
    day_bytes: float
    """Bytes in daily cells, as far as the benchmark's history fills them."""
    visit_bytes: float
    """Bytes per visit, independent of its facts: its rows, and one for each of its CPUs."""
    lake_bytes: float
    stack_bytes: float
    ingested_per_s: float
    """Facts per second that one machine ingested and merged at most."""
    unmerged_per_s: float
    """Facts per second that one machine ingested at most, before merging."""
    store_facts: float
    """Facts in the run that measured the store."""
    stacks: float
    """Distinct stacks of the same run."""
    ingest_cold_s: float | None
    """CPU seconds per fact in workers with empty caches; None if that run did not measure it."""


def measured(found: Results, store: str = "store") -> Measured:
    """The figures of the last runs, those of the store from the run `store`."""
    overhead, gateway, lake, kept = found["overhead"], found["gateway"], found["lake"], found[store]
    # Bulk-loaded data has no lines, CPUs or binaries: these figures are for the captures that were ingested.
    ingested = kept["facts"] / kept["facts_ingested"]
    kernel_s = lake["samples_per_visit"] * overhead["kernel_us_per_sample"] * MICRO
    reading_s = lake["samples_per_visit"] * gateway["cpu_ms_per_1000_samples"] * MICRO
    cold = kept.get("ingest_cpu_us_per_fact_cold")
    return Measured(
        visit_cpu_s=overhead["visit_start_cpu_ms"] / 1000 + reading_s + kernel_s,
        samples_per_visit=lake["samples_per_visit"],
        facts_per_visit=lake["facts_per_visit"],
        raw_bytes_per_sample=gateway["bytes_per_sample"],
        halfwidth=overhead["rel_halfwidth_1pct_day"],
        ingest_s=kept["ingest_cpu_us_per_fact"] * MICRO,
        roll_s=(kept["roll_cpu_us_per_fact"] + kept["fold_cpu_us_per_fact"]) * MICRO,
        server_s=(
            kept["server_cpu_us_per_fact"]
            + kept["fold_server_cpu_us_per_fact"]
            + lake["export_server_cpu_us_per_fact"]
        )
        * MICRO,
        export_s=lake["export_cpu_us_per_fact"] * MICRO,
        profile_bytes=kept["bytes_per_fact_profile"]
        + kept["bytes_per_fact_chunk"]
        + ingested * (kept["bytes_per_fact_line_chunk"] + kept["bytes_per_fact_capture_binary"]),
        hour_bytes=kept["bytes_per_fact_merged_roll"],
        day_bytes=kept["bytes_per_fact_folded"] - kept["bytes_per_fact_merged"],
        visit_bytes=ingested * kept["bytes_per_fact_capture_cpu"] * lake["facts_per_visit"] + VISIT_ROW_BYTES,
        lake_bytes=lake["bytes_per_fact"],
        stack_bytes=kept["bytes_per_stack"],
        ingested_per_s=kept["ingest_facts_per_s"],
        unmerged_per_s=kept["ingested_facts_per_s"],
        store_facts=kept["facts"],
        stacks=kept["stacks"],
        ingest_cold_s=None if cold is None else cold * MICRO,
    )


@dataclass(frozen=True)
class Stores:
    """Results of two runs, of a store with fewer stacks and of one with more."""

    small: Measured
    large: Measured

    def of(self, visits: float) -> Measured:
        """Figures for a fleet with this number of visits per day: the larger store's beyond `large_visits`."""
        return self.large if visits > self.large_visits else self.small

    @property
    def large_visits(self) -> float:
        """Visits per day with as many facts as the larger store; up to this the smaller store's figures apply."""
        return self.large.store_facts / self.large.facts_per_visit


def stores(found: Results) -> Stores:
    """Both stores, from the last runs."""
    return Stores(measured(found), measured(found, "store-full"))
