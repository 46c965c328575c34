"""Tables of the page: measurements, and fleets side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.scaling.fleet import DEFAULT_VISITS, Fleet
from benchmarks.scaling.measured import BUCKET_BYTES, MICRO, WHOLE_DAY_BYTES, Measured, Stores
from benchmarks.scaling.numerals import count, plain, rounded

FLEETS: Final = (10, 100, 1_000, 10_000, 100_000)


def tables(given: Stores) -> dict[str, str]:
    """Tables by the names of their placeholders."""
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
            "a visit: samples",
            lambda it: count(it.samples_per_visit),
            False,
            "`lake.samples_per_visit`: 64 CPUs, made fleet",
        ),
        ("a visit: facts", lambda it: count(it.facts_per_visit), False, "`lake.facts_per_visit`"),
        (
            "a visit: CPU of the machine",
            lambda it: f"{plain(it.visit_cpu_s)} s",
            False,
            "`overhead.visit_start_cpu_ms` + samples × (`gateway.cpu_ms_per_1000_samples` + `overhead.kernel_us_per_sample`)",
        ),
        (
            "a sample, raw",
            lambda it: f"{plain(it.raw_bytes_per_sample)} B",
            False,
            "`gateway.bytes_per_sample`",
        ),
        ("stacks in the store", lambda it: rounded(it.stacks), True, "`store.stacks`"),
        ("a fact: workers", lambda it: _micro(it.ingest_s), True, "`store.ingest_cpu_us_per_fact`"),
        (
            "a fact: collector, cells",
            lambda it: _micro(it.roll_s),
            True,
            "`store.roll_cpu_us_per_fact` + `store.fold_cpu_us_per_fact`",
        ),
        (
            "a fact: collector, lake",
            lambda it: _micro(it.export_s),
            False,
            "`lake.export_cpu_us_per_fact`",
        ),
        (
            "a fact: PostgreSQL",
            lambda it: _micro(it.server_s),
            True,
            "`store.server_cpu_us_per_fact` + `store.fold_server_cpu_us_per_fact` + `lake.export_server_cpu_us_per_fact`",
        ),
        (
            "facts ingested and merged in a second",
            lambda it: rounded(it.ingested_per_s),
            True,
            "`store.ingest_facts_per_s`: by one machine that does nothing else",
        ),
        (
            "a fact in PostgreSQL",
            lambda it: _bytes(it.profile_bytes),
            True,
            "`store.bytes_per_fact_profile` + `store.bytes_per_fact_chunk` + `store.facts` / `store.facts_ingested` · (`store.bytes_per_fact_line_chunk` + `store.bytes_per_fact_capture_binary`)",
        ),
        ("… in cells of hours", lambda it: _bytes(it.hour_bytes), True, "`store.bytes_per_fact_merged_roll`"),
        (
            "… in cells of days with few visits",
            lambda it: _bytes(it.day_bytes),
            True,
            "`store.bytes_per_fact_folded` − `store.bytes_per_fact_merged`",
        ),
        (
            "… in cells of whole days",
            lambda _: _bytes(WHOLE_DAY_BYTES),
            False,
            "by hand: 3 946 visits in 24 hours",
        ),
        (
            "… in buckets of days, at most",
            lambda _: _bytes(BUCKET_BYTES),
            False,
            "by hand, the same day",
        ),
        (
            "a visit, its rows",
            lambda it: f"{plain(it.visit_bytes / 1000)} kB",
            True,
            "`store.bytes_per_fact_capture_cpu` · `store.facts` / `store.facts_ingested` · `lake.facts_per_visit`, and by hand",
        ),
        ("a fact in the lake", lambda it: _bytes(it.lake_bytes), False, "`lake.bytes_per_fact`"),
        ("a stack, once", lambda it: _bytes(it.stack_bytes), True, "`store.bytes_per_stack`"),
        (
            "a 1 % function after a day of 4 320 visits",
            lambda it: f"± {plain(100 * it.halfwidth)} %",
            False,
            "`overhead.rel_halfwidth_1pct_day`",
        ),
    ]
    rows = [
        [what, shown_value(given.small), shown_value(given.large) if differs else "", source]
        for what, shown_value, differs, source in shown
    ]
    lines = markdown(["what", "figure", "large fleets", "from"], rows).split("\n")
    lines[1] = "|---|---:|---:|---|"
    return "\n".join(lines)


def _micro(seconds: float) -> str:
    return f"{plain(seconds / MICRO)} µs"


def _bytes(value: float) -> str:
    return f"{plain(value)} B"
