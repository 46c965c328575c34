"""Tables of the page about servers: load, hardware, storage, memory, symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.scaling.fleet import DAY_S, DEFAULT_VISITS, Fleet
from benchmarks.scaling.measured import Results, Stores, stores
from benchmarks.scaling.numerals import count, duration, plain, rounded, size
from benchmarks.scaling.tables import markdown

_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_DISK_MARGIN: Final = 1.5
"""Ratio of disks to buy to the size in the tables."""
_LAST_DAYS: Final = 7
_LONG_CELL_DAYS: Final = 400
_SYMBOL_DAYS: Final = 90
_MANY_FACTS: Final = 1e10
_MANY_STACKS: Final = 1e7
_SPARSE: Final = 0.5
"""Visits per minute, compared with the default of three."""
_BOUGHT: Final = (
    ("default, any fleet", 1_000, 4_320.0),
    ("10 000 machines, 43 200 visits", 10_000, 43_200.0),
    ("100 000 machines, 432 000 visits", 100_000, 432_000.0),
)


def server_tables(found: Results) -> dict[str, str]:
    """Tables by the names of their regions."""
    both = stores(found)
    fleets = [Fleet(machines, visits, both.of(visits)) for _, machines, visits in _BOUGHT]
    return {
        "small machines": _small_machines(found, both),
        "symbols": _symbols(found, both),
        "peaks": _peaks(fleets),
        "bought": _bought(fleets),
        "memory": _memory(found),
        "places": _places(found, both),
        "sql": _sql(found),
    }


def _small_machines(found: Results, both: Stores) -> str:
    overhead, given = found["overhead"], both.small
    start_ms = overhead["visit_start_cpu_ms"]
    sparse = 100 * given.halfwidth * (DEFAULT_VISITS / (_SPARSE * 1440)) ** 0.5
    rows = [
        [
            "start of the gateway, share of a visit's CPU time: 64 CPUs",
            f"{plain(100 * start_ms / 1000 / given.visit_cpu_s)} %",
            "`overhead.visit_start_cpu_ms`",
        ],
        [
            "the same: 2 CPUs",
            f"{plain(100 * start_ms / overhead['visit_cpu_ms'])} %",
            "`overhead.visit_start_cpu_ms` / `overhead.visit_cpu_ms`",
        ],
        [
            "machines of 2 CPUs at which the default campaign costs 0.01 %",
            f"{overhead['machines_at_budget']:.0f}",
            "`overhead.machines_at_budget`",
        ],
        [
            f"half-width for a 1 % function after a day with `--visits {_SPARSE}`",
            f"± {plain(sparse)} %",
            "`overhead.rel_halfwidth_1pct_day`",
        ],
    ]
    return _with_sources(rows)


def _symbols(found: Results, both: Stores) -> str:
    symbols = found["symbolizer"]
    stored = symbols["source_gib_big"] * _GIB + symbols["cache_mib"] * _MIB
    rows = [
        ["a large debug file", f"{plain(symbols['source_gib_big'])} GiB", "`symbolizer.source_gib_big`"],
        ["its lookup table", f"{symbols['cache_mib']:.0f} MiB", "`symbolizer.cache_mib`"],
        [
            f"both, for 10 such builds per day, kept {_SYMBOL_DAYS} days",
            size(10 * _SYMBOL_DAYS * stored),
            "",
        ],
        [
            "CPU time to build the lookup table",
            f"{symbols['build_cpu_s']:.0f} s",
            "`symbolizer.build_cpu_s`",
        ],
        ["the same, for 100 such builds", duration(100 * symbols["build_cpu_s"]), ""],
        [
            "addresses looked up per second",
            rounded(symbols["addresses_per_s"]),
            "`symbolizer.addresses_per_s`",
        ],
        [
            "10⁷ stacks in PostgreSQL, with their functions",
            size(_MANY_STACKS * both.large.stack_bytes),
            "`store-full.bytes_per_stack`",
        ],
    ]
    return _with_sources(rows)


def _peaks(fleets: Sequence[Fleet]) -> str:
    rows = [
        ["mean facts per second", *(rounded(it.facts / DAY_S) for it in fleets)],
        ["share of the measured rate", *(f"{plain(100 * it.load)} %" for it in fleets)],
        ["time to catch up with one missed day", *map(_catching_up, fleets)],
        ["cores for a day's work in four hours", *(plain(6 * it.server_cores) for it in fleets)],
    ]
    return markdown(["", *_bought_names()], rows)


def _catching_up(fleet: Fleet) -> str:
    taken = fleet.catching_up
    return "never: more arrives than it ingests" if taken is None else duration(taken)


def _bought(fleets: Sequence[Fleet]) -> str:
    """Hardware to buy: cores and memory by hand; disks from the tables."""
    disks = [_with_margin(fleet.database) for fleet in fleets]
    servers = [
        "the same machine, {} of SSD",
        "4 cores, 32 GB, {} of SSD",
        "8 cores, 64 GB, {} of NVMe",
    ]
    rows = [
        [
            "collector, workers, API",
            "one machine of 4 cores, 8 GB",
            "one machine of 8 cores, 16 GB",
            "a collector with `FLEETPROF_CONCURRENT_VISITS=64`, 2 workers, 2 API machines, each 4 cores, 16 GB",
        ],
        ["PostgreSQL", *(text.format(disk) for text, disk in zip(servers, disks, strict=True))],
        ["archive, without debug files", *(_with_margin(fleet.archive) for fleet in fleets)],
        ["lake, after three years", *(_with_margin(fleet.lake) for fleet in fleets)],
    ]
    return markdown(["", *_bought_names()], rows, align="---")


def _bought_names() -> list[str]:
    return [name for name, _, _ in _BOUGHT]


def _with_margin(limit: float) -> str:
    """One and a half times the size, rounded up to one digit."""
    wanted = _DISK_MARGIN * limit
    step = 10.0 ** (len(str(int(wanted))) - 1)
    return size(-(-wanted // step) * step)


def _memory(found: Results) -> str:
    soak, lake = found["soak"], found["lake"]
    times = soak["visits_ingested"] / (soak["minutes"] * DEFAULT_VISITS / 1440)
    stack = soak["api_cache_stacks_mib_end"] * _MIB / soak["api_cache_stacks_rows_end"]
    function = soak["api_cache_functions_mib_end"] * _MIB / soak["api_cache_functions_rows_end"]
    rows = [
        ["machines of the run", count(soak["machines"]), "`soak.machines`"],
        [
            f"visits in {soak['minutes']:.0f} minutes, {plain(times)} times the default rate",
            count(soak["visits_ingested"]),
            "`soak.visits_ingested`",
        ],
        ["collector, peak", f"{soak['collector_mib_peak']:.0f} MiB", "`soak.collector_mib_peak`"],
        ["worker, peak", f"{soak['worker_mib_peak']:.0f} MiB", "`soak.worker_mib_peak`"],
        ["API, peak", f"{soak['api_mib_peak']:.0f} MiB", "`soak.api_mib_peak`"],
        [
            "API, per cached stack",
            f"{plain(stack)} B",
            "`soak.api_cache_stacks_mib_end` / `soak.api_cache_stacks_rows_end`",
        ],
        [
            "API, per cached function",
            f"{plain(function)} B",
            "`soak.api_cache_functions_mib_end` / `soak.api_cache_functions_rows_end`",
        ],
        [
            f"export of {rounded(lake['facts'])} facts to the lake, peak",
            f"{lake['export_peak_rss_mib']:.0f} MiB",
            "`lake.export_peak_rss_mib`",
        ],
    ]
    return _with_sources(rows)


def _places(found: Results, both: Stores) -> str:
    """Where data is stored, for a small and a large fleet with four visits per day and machine."""
    lake = found["lake"]
    fleets = [Fleet(machines, 4.0 * machines, both.of(4.0 * machines)) for machines in (1_000, 100_000)]
    core_s = lake["p50_ms_sql"] / 1000 * lake["cpus"] / lake["facts"]
    rows = [
        [
            "PostgreSQL by default: 35 days of profiles, 92 of cells",
            *(size(fleet.database) for fleet in fleets),
        ],
        [
            f"PostgreSQL with {_LONG_CELL_DAYS} days of cells",
            *(size(fleet.database_of(35, _LONG_CELL_DAYS)) for fleet in fleets),
        ],
        [
            f"PostgreSQL with {_LAST_DAYS} days of profiles and of cells",
            *(size(fleet.database_of(_LAST_DAYS, _LAST_DAYS)) for fleet in fleets),
        ],
        ["lake, 1 100 days", *(size(fleet.lake) for fleet in fleets)],
        [
            "core-hours of SQL over all facts of a month",
            *(plain(30 * fleet.facts * core_s / 3600) for fleet in fleets),
        ],
    ]
    names = [f"{count(fleet.machines)} machines, {count(fleet.visits)} visits" for fleet in fleets]
    return markdown(["four visits per day and machine", *names], rows)


def _sql(found: Results) -> str:
    lake = found["lake"]
    seconds = lake["p50_ms_sql"] / 1000
    rows = [
        [
            f"table of functions over {rounded(lake['facts'])} facts, {lake['cpus']} CPUs",
            f"{plain(seconds)} s",
            "`lake.p50_ms_sql`",
        ],
        [
            "the same over 10¹⁰ facts",
            duration(_MANY_FACTS / lake["facts"] * seconds),
            "in proportion",
        ],
    ]
    return _with_sources(rows)


def _with_sources(rows: Sequence[Sequence[str]]) -> str:
    """A table with a column of values and one of their sources."""
    lines = markdown(["figure", "value", "source"], rows).split("\n")
    lines[1] = "|---|---:|---|"
    return "\n".join(lines)
