"""What the benchmarks measured, as far as the arithmetic begins with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

RESULTS: Final = Path(__file__).parents[1] / "results"
MICRO: Final = 1e-6
VISIT_ROW_BYTES: Final = 920
"""Of `visit`, `capture`, `capture_segment`, `coverage` and `exposure`, a visit. It and the next two were measured by hand, of a
day with 3 946 visits over its 24 hours: the benchmark's fleet, 2 campaigns, 8 strata, 10⁶ stacks, 28.8 million facts."""
BUCKET_BYTES: Final = 10.0
"""A fact, in buckets of 4, 16 and 64 days (`rollup_long`) that had that day alone. At most: days share stacks."""
WHOLE_DAY_BYTES: Final = 4.7
"""A fact, in the cells of that day."""

Results: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Figures by the name of the benchmark and of the figure."""


def results(folder: Path = RESULTS) -> Results:
    """Those of the last runs."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


@dataclass(frozen=True)
class Measured:
    """What the arithmetic begins with."""

    visit_cpu_s: float
    """Of the gateway, on a busy machine of two CPUs, its start and its samples in the kernel included."""
    samples_per_visit: float
    """Of a made fleet of 64 logical CPUs a machine."""
    facts_per_visit: float
    raw_bytes_per_sample: float
    halfwidth: float
    """Relative, of a 1 % function after a day of the default campaign."""
    ingest_s: float
    """CPU seconds a fact: workers; so are the next ones."""
    roll_s: float
    """The collector: merging and folding."""
    server_s: float
    export_s: float
    profile_bytes: float
    """A fact in PostgreSQL, profiles, chunks and lines; so are the next ones."""
    hour_bytes: float
    """In cells of hours."""
    day_bytes: float
    """In cells of days, as far as the benchmark's history fills them."""
    visit_bytes: float
    """A visit, whatever its facts: its rows, and one for each of its CPUs."""
    lake_bytes: float
    stack_bytes: float
    ingested_per_s: float
    """Facts that one machine ingested and merged in a second, at most."""
    store_facts: float
    """Of the run that measured the store."""
    stacks: float
    """Different ones, of the same run."""
    ingest_cold_s: float | None
    """CPU seconds a fact of workers that remember nothing yet; None: that run did not tell."""


def measured(found: Results, store: str = "store") -> Measured:
    """The figures of the last runs, those of the store from the run of this name."""
    overhead, gateway, lake, kept = found["overhead"], found["gateway"], found["lake"], found[store]
    # What is loaded in bulk has no lines, no CPUs and no binaries: these are of the captures that were ingested.
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
        store_facts=kept["facts"],
        stacks=kept["stacks"],
        ingest_cold_s=None if cold is None else cold * MICRO,
    )


@dataclass(frozen=True)
class Stores:
    """What two runs measured, of a store with fewer stacks and of one with more."""

    small: Measured
    large: Measured

    def of(self, visits: float) -> Measured:
        """What a fleet with so many visits a day is reckoned with: the larger, when its day has more facts than that store."""
        return self.large if visits > self.large_visits else self.small

    @property
    def large_visits(self) -> float:
        """A day, up to which the figures are those of the smaller store."""
        return self.large.store_facts / self.large.facts_per_visit


def stores(found: Results) -> Stores:
    """Both, of the last runs."""
    return Stores(measured(found), measured(found, "store-full"))
