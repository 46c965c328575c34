"""Tables of the page about fleets: measurements, and fleets side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.scaling.fleet import DEFAULT_VISITS, Fleet
from benchmarks.scaling.measured import BUCKET_BYTES, MICRO, WHOLE_DAY_BYTES, Measured, Stores
from benchmarks.scaling.numerals import count, plain, rounded

FLEETS: Final = (10, 100, 1_000, 10_000, 100_000)


def tables(given: Stores) -> dict[str, str]:
    """Tables by the names of their regions."""
    return {
        "measured": inputs(given),
        "default": table([_fleet(machines, DEFAULT_VISITS, given) for machines in FLEETS]),
        "alike": table([_fleet(machines, DEFAULT_VISITS / 1000 * machines, given) for machines in FLEETS]),
    }


def _fleet(machines: int, visits: float, given: Stores) -> Fleet:
    return Fleet(machines, visits, given.of(visits))


def table(fleets: Sequence[Fleet]) -> str:
    """The fleets side by side, as Markdown."""
    names = [name for name, _ in fleets[0].rows()]
    columns = [[value for _, value in fleet.rows()] for fleet in fleets]
    rows = [[name, *(column[i] for column in columns)] for i, name in enumerate(names)]
    return markdown(["machines", *(count(fleet.machines) for fleet in fleets)], rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], align: str = "---:") -> str:
    """A table; the first column holds the rows' names."""
    lines = [f"| {' | '.join(head)} |", f"|---|{f'{align}|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def inputs(given: Stores) -> str:
    """Inputs of the arithmetic and their sources; for the larger store, only those that differ."""
    shown: list[tuple[str, Callable[[Measured], str], bool, str]] = [
        (
            "samples per visit",
            lambda it: count(it.samples_per_visit),
            False,
            "`lake.samples_per_visit`: 64 CPUs, synthetic fleet",
        ),
        ("facts per visit", lambda it: count(it.facts_per_visit), False, "`lake.facts_per_visit`"),
        (
            "CPU time of the machine per visit",
            lambda it: f"{plain(it.visit_cpu_s)} s",
            False,
            "`overhead.visit_start_cpu_ms` + samples × (`gateway.cpu_ms_per_1000_samples` + `overhead.kernel_us_per_sample`)",
        ),
        (
            "raw capture, per sample",
            lambda it: f"{plain(it.raw_bytes_per_sample)} B",
            False,
            "`gateway.bytes_per_sample`",
        ),
        ("stacks in the store", lambda it: rounded(it.stacks), True, "`store.stacks`"),
        ("workers, per fact", lambda it: _micro(it.ingest_s), True, "`store.ingest_cpu_us_per_fact`"),
        (
            "workers with empty caches, per fact",
            lambda it: "not measured" if it.ingest_cold_s is None else _micro(it.ingest_cold_s),
            True,
            "`store.ingest_cpu_us_per_fact_cold`",
        ),
        (
            "collector, cells, per fact",
            lambda it: _micro(it.roll_s),
            True,
            "`store.roll_cpu_us_per_fact` + `store.fold_cpu_us_per_fact`",
        ),
        (
            "collector, lake, per fact",
            lambda it: _micro(it.export_s),
            False,
            "`lake.export_cpu_us_per_fact`",
        ),
        (
            "PostgreSQL, per fact",
            lambda it: _micro(it.server_s),
            True,
            "`store.server_cpu_us_per_fact` + `store.fold_server_cpu_us_per_fact` + `lake.export_server_cpu_us_per_fact`",
        ),
        (
            "facts ingested per second, before merging",
            lambda it: rounded(it.unmerged_per_s),
            True,
            "`store.ingested_facts_per_s`: one machine with no other work",
        ),
        (
            "facts ingested and merged per second",
            lambda it: rounded(it.ingested_per_s),
            True,
            "`store.ingest_facts_per_s`: likewise",
        ),
        (
            "profiles, chunks and lines, per fact",
            lambda it: _bytes(it.profile_bytes),
            True,
            "`store.bytes_per_fact_profile` + `store.bytes_per_fact_chunk` + `store.facts` / `store.facts_ingested` · (`store.bytes_per_fact_line_chunk` + `store.bytes_per_fact_capture_binary`)",
        ),
        (
            "hourly cells, per fact",
            lambda it: _bytes(it.hour_bytes),
            True,
            "`store.bytes_per_fact_merged_roll`",
        ),
        (
            "daily cells with few visits, per fact",
            lambda it: _bytes(it.day_bytes),
            True,
            "`store.bytes_per_fact_folded` − `store.bytes_per_fact_merged`",
        ),
        (
            "daily cells of a whole day, per fact",
            lambda _: _bytes(WHOLE_DAY_BYTES),
            False,
            "measured once: 3 946 visits in 24 hours",
        ),
        (
            "buckets of days, per fact, upper bound",
            lambda _: _bytes(BUCKET_BYTES),
            False,
            "measured once, the same day",
        ),
        (
            "rows of a visit",
            lambda it: f"{plain(it.visit_bytes / 1000)} kB",
            True,
            "`store.bytes_per_fact_capture_cpu` · `store.facts` / `store.facts_ingested` · `lake.facts_per_visit` + rows measured once",
        ),
        ("lake, per fact", lambda it: _bytes(it.lake_bytes), False, "`lake.bytes_per_fact`"),
        ("stack, stored once", lambda it: _bytes(it.stack_bytes), True, "`store.bytes_per_stack`"),
        (
            "half-width for a 1 % function after a day of 4 320 visits",
            lambda it: f"± {plain(100 * it.halfwidth)} %",
            False,
            "`overhead.rel_halfwidth_1pct_day`",
        ),
    ]
    rows = [
        [what, shown_value(given.small), shown_value(given.large) if differs else "", source]
        for what, shown_value, differs, source in shown
    ]
    rows.append(
        [
            "visits per day above which the large store's values apply",
            "",
            rounded(given.large_visits),
            "`store-full.facts` / `lake.facts_per_visit`",
        ]
    )
    lines = markdown(["figure", "value", "large store", "source"], rows).split("\n")
    lines[1] = "|---|---:|---:|---|"
    return "\n".join(lines)


def _micro(seconds: float) -> str:
    return f"{plain(seconds / MICRO)} µs"


def _bytes(value: float) -> str:
    return f"{plain(value)} B"
