"""Passages of the page that contain figures, so that the text changes with them."""

from __future__ import annotations

from typing import Final

from benchmarks.scaling.fleet import CELL_DAYS, DAY_S, DEFAULT_VISITS, Fleet
from benchmarks.scaling.measured import Measured, Results, Stores, stores
from benchmarks.scaling.numerals import count, duration, plain, rounded, size
from benchmarks.scaling.tables import markdown

_YEAR_DAYS: Final = 463
"""As `CELL_DAYS`, for a retention of 400 days."""
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_ROOM: Final = 1.5
"""Ratio of disks to buy to the size in the tables."""
_LAST_DAYS: Final = 7
_SEASON_FACTS: Final = 1e10
_MANY_STACKS: Final = 1e7
_SPARSE: Final = 0.5
"""Visits per minute, compared with the default of three."""
_BOUGHT: Final = (
    ("default, any fleet", 1_000, 4_320.0),
    ("10 000 machines, 43 200 visits", 10_000, 43_200.0),
    ("100 000 machines, 432 000 visits", 100_000, 432_000.0),
)


def passages(found: Results) -> dict[str, str]:
    """Passages by the names of their placeholders."""
    both = stores(found)
    fleets = [Fleet(machines, visits, both.of(visits)) for _, machines, visits in _BOUGHT]
    return {
        "precision": _precision(both.small),
        "large": _large(both),
        "shape": _shape(both.small),
        "small machines": _small_machines(found, both.small),
        "shared": _shared(both),
        "apart": _apart(found, both),
        "peaks": _peaks(found, both, fleets),
        "bought": _bought(fleets),
        "disks": _disks(fleets[0]),
        "places": _places(found, both),
        "memory": _memory(found),
        "months": _months(found),
    }


def _precision(given: Measured) -> str:
    return f"""\
**What visits buy is precision, and it does not depend on the fleet's size either.** The interval of a share narrows with the
square root of the number of visits. After a day of the default campaign a function of 1 % is known to ± {plain(100 * given.halfwidth)} %, of 1 000 machines and
of 100 000 (a smaller fleet sees the same machines again, which only helps). What a larger fleet has more of is parts:
applications that run on one machine in a thousand, versions that run on a few. Of those the default sees few visits a day."""


def _large(both: Stores) -> str:
    text = f"""\
What ingestion and merging cost depends on how many stacks the store has. Fleets with more than {rounded(both.large_visits)} visits a day, whose day has
more facts than the larger of two stores had in all (`store-full.facts`, {rounded(both.large.store_facts)}), are reckoned with what the run of that one measured,
which is the column of large fleets: the figures of the same names in `benchmarks/results/store-full.json`. The workers' figures are of processes that were
shown all stacks and names before."""
    cold = [
        f"{plain(it.ingest_cold_s * 1e6)} µs with {rounded(it.stacks)} stacks (`{name}.ingest_cpu_us_per_fact_cold`)"
        for name, it in (("store", both.small), ("store-full", both.large))
        if it.ingest_cold_s is not None
    ]
    if cold:
        text += f"""
One that has just started, or forgot them in the weekly sweep of the dictionaries, takes for a fact at first
{" and ".join(cold)}."""
    return text


def _shape(given: Measured) -> str:
    a_fact = given.samples_per_visit / given.facts_per_visit
    return f"""\
The made fleet's machines have 64 logical CPUs and 20 to 100 process groups a visit; stacks are diverse, {plain(a_fact)} samples to a fact. Real
stacks repeat more, so there are fewer facts to as many samples. Half the CPUs means half the samples and about half of everything
below but the start of the gateway."""


def _small_machines(found: Results, given: Measured) -> str:
    overhead = found["overhead"]
    start = overhead["visit_start_cpu_ms"] / 1000 / given.visit_cpu_s
    own = overhead["visit_start_cpu_ms"] / overhead["visit_cpu_ms"]
    wide = 100 * given.halfwidth * (DEFAULT_VISITS / (_SPARSE * 1440)) ** 0.5
    return f"""\
Machines of two CPUs pay more for each: the start of the gateway is {plain(100 * start)} % of a visit here and {plain(100 * own)} % of one there
(`overhead.visit_start_cpu_ms`, `overhead.visit_cpu_ms`), so that some {overhead["machines_at_budget"]:.0f} of
them (`overhead.machines_at_budget`) share 0.01 %. A smaller fleet of small machines is visited less often:
`fleetprof campaigns set fleet --visits {_SPARSE}` costs a sixth, and tells a 1 % function to ± {plain(wide)} % a day."""


def _shared(both: Stores) -> str:
    return f"""\
**Cells share stacks**, so their bytes a fact fall with the number of visits that share a cell, and no one figure is right for every
column. Those of hours were measured with 625 visits an hour, {plain(both.small.hour_bytes)} B with {rounded(both.small.stacks)} stacks and {plain(both.large.hour_bytes)} B with {rounded(both.large.stacks)}. Those of days are of 3 946 visits in 24
hours, about the default's; a day with a tenth of the visits comes near the figure of days with few, and ten times as many take less
each. Buckets were measured with one day in each, which is their worst: days have most of their stacks in common. With 10⁶ stacks and no
new ones a bucket of 64 days is hardly larger than a day's. So the last row is a limit, reached by a fleet that never runs the same code twice.
The figures by hand are of one run, which no benchmark repeats."""


def _apart(found: Results, both: Stores) -> str:
    symbols = found["symbolizer"]
    gib = plain(symbols["source_gib_big"])
    ten_a_day = 10 * 90 * (symbols["source_gib_big"] * _GIB + symbols["cache_mib"] * _MIB)
    return f"""\
- **Debug files in the archive.** What is uploaded or fetched, and what is built from it (`symbolizer.cache_mib`: {symbols["cache_mib"]:.0f} MiB from
  {gib} GiB, `symbolizer.source_gib_big`), stays for FLEETPROF_SYMBOL_RETENTION_DAYS, 90, after its last use. Ten builds a day of such a
  size are up to {size(ten_a_day)}. All raw captures of the default campaign are {size(Fleet(1, DEFAULT_VISITS, both.small).archive)}.
- **Stacks and functions**, once each while anything has them: 10⁷ different stacks take {size(_MANY_STACKS * both.large.stack_bytes)} in PostgreSQL. In the lake every day has its
  own copy, which is in its figure.
- **Symbolization.** Ingestion was measured from resolved frames. Looking addresses up takes a fraction of it once a binary's symbols are
  built (`symbolizer.addresses_per_s`: {rounded(symbols["addresses_per_s"])}); building them takes `symbolizer.build_cpu_s`, {symbols["build_cpu_s"]:.0f} s for these {gib} GiB, once a
  build of each program for the whole fleet. A fleet that rolls out a hundred such binaries a day spends {duration(100 * symbols["build_cpu_s"])} of a core on it.
- **Questions**, which depend on who asks.
- **Draws.** There is no figure for the collector's own calls yet; 10 000 gateways have not been measured, 1 000 simulated ones have (`soak`)."""


def _peaks(found: Results, both: Stores, fleets: list[Fleet]) -> str:
    rows = [
        ["facts a second, in the mean", *(rounded(it.facts / DAY_S) for it in fleets)],
        ["share of what that machine ingested and merged", *(f"{plain(100 * it.load)} %" for it in fleets)],
        ["it catches up with a day in", *map(_catching_up, fleets)],
        ["cores that do a day's work in four hours", *(plain(6 * it.server_cores) for it in fleets)],
    ]
    small, large = found["store"], found["store-full"]
    return f"""\
What sizes a server is peaks, questions and disks. The most that one machine of {small["cpus"]} CPUs did, PostgreSQL and all, was to ingest
{rounded(small["ingested_facts_per_s"])} facts a second (`store.ingested_facts_per_s`), {rounded(small["ingest_facts_per_s"])} until they were merged too (`store.ingest_facts_per_s`), with {rounded(both.small.stacks)} stacks,
and {rounded(large["ingested_facts_per_s"])} (`store-full.ingested_facts_per_s`) and {rounded(large["ingest_facts_per_s"])} (`store-full.ingest_facts_per_s`) with {rounded(both.large.stacks)}. After a day in which nothing
was ingested, such a machine has that day's captures to ingest and those that arrive meanwhile:

{markdown(["", *(name for name, _, _ in _BOUGHT)], rows)}

More workers ingest it sooner. The first of these columns is reckoned with {"the larger" if fleets[0].given is both.large else "the smaller"} store's figures, the last with {"the larger" if fleets[-1].given is both.large else "the smaller"} one's."""


def _catching_up(fleet: Fleet) -> str:
    taken = fleet.catching_up
    return "never: more arrives than it ingests" if taken is None else duration(taken)


def _bought(fleets: list[Fleet]) -> str:
    """Hardware to buy: cores and memory by hand; disks from the tables."""
    disks = [_with_room(fleet.database) for fleet in fleets]
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
        ["archive, debug files apart", *(_with_room(fleet.archive) for fleet in fleets)],
        ["lake, after three years", *(_with_room(fleet.lake) for fleet in fleets)],
    ]
    return markdown(["", *(name for name, _, _ in _BOUGHT)], rows, align="---")


def _with_room(limit: float) -> str:
    """One and a half times the size, rounded up to one digit."""
    wanted = _ROOM * limit
    step = 10.0 ** (len(str(int(wanted))) - 1)
    return size(-(-wanted // step) * step)


def _disks(fleet: Fleet) -> str:
    old = fleet.days + fleet.buckets + fleet.rows_of_visits
    year = fleet.database + old * (_YEAR_DAYS / CELL_DAYS - 1)
    return f"""\
Of PostgreSQL's disk {plain(100 * old / fleet.database)} % is cells of days, buckets and visits of at most 155 days. FLEETPROF_CELL_RETENTION_DAYS=400 takes
{plain(year / fleet.database)} times the table's limit; the lake answers about the same year, and two more. `fleetprof up` on one machine is the first column."""


def _places(found: Results, both: Stores) -> str:
    """Where data is stored, for a small and a large fleet with four visits per day and machine."""
    lake = found["lake"]
    fleets = [Fleet(machines, 4.0 * machines, both.of(4.0 * machines)) for machines in (1_000, 100_000)]
    core_s = lake["p50_ms_sql"] / 1000 * lake["cpus"] / lake["facts"]
    rows = [
        [
            "PostgreSQL with its defaults: 35 days of profiles, 92 of cells",
            *(size(fleet.database) for fleet in fleets),
        ],
        [
            f"PostgreSQL with the last days alone: {_LAST_DAYS} and {_LAST_DAYS}",
            *(size(fleet.database_of(_LAST_DAYS, _LAST_DAYS)) for fleet in fleets),
        ],
        ["lake, 1 100 days", *(size(fleet.lake) for fleet in fleets)],
        [
            "core-hours of SQL over a month of everything",
            *(plain(30 * fleet.facts * core_s / 3600) for fleet in fleets),
        ],
    ]
    names = [f"{count(fleet.machines)} machines, {count(fleet.visits)} visits" for fleet in fleets]
    return f"""\
{markdown(["four visits a day to each machine", *names], rows)}

The last row is that of `lake.p50_ms_sql`, the table of functions of everything on {lake["cpus"]} CPUs. A question about an application reads its part of the files."""


def _memory(found: Results) -> str:
    soak, lake = found["soak"], found["lake"]
    times = soak["visits_ingested"] / (soak["minutes"] * DEFAULT_VISITS / 1440)
    stack = soak["api_cache_stacks_mib_end"] * _MIB / soak["api_cache_stacks_rows_end"]
    function = soak["api_cache_functions_mib_end"] * _MIB / soak["api_cache_functions_rows_end"]
    return f"""\
Memory that processes were measured to take (`soak`: {count(soak["machines"])} machines, {count(soak["visits_ingested"])} visits in {soak["minutes"]:.0f} minutes, {plain(times)} times the rate of the
default): collector {soak["collector_mib_peak"]:.0f} MiB (`soak.collector_mib_peak`), worker {soak["worker_mib_peak"]:.0f} MiB (`soak.worker_mib_peak`), API {soak["api_mib_peak"]:.0f} MiB
(`soak.api_mib_peak`). The API's grew by {plain(stack)} bytes a stack and {plain(function)} a function that it had met, which lie in a mapped file since, 50 bytes a stack; a question takes up to 1 GB for
the 20 million facts that are read at most. An export of {rounded(lake["facts"])} facts took {lake["export_peak_rss_mib"]:.0f} MiB (`lake.export_peak_rss_mib`); a larger day takes a byte more for
each stack id, profiles and facts go through a megabyte at a time, and the check takes no more than FLEETPROF_LAKE_MEMORY_BYTES."""


def _months(found: Results) -> str:
    lake = found["lake"]
    taken = _SEASON_FACTS / lake["facts"] * lake["p50_ms_sql"] / 1000
    return f"""\
**Months of raw facts.** That is what the lake is for ([lake.md](lake.md)): `fleetprof query --engine duckdb` gives the same answers from one
machine, and its SQL runs on Spark where one machine is too small. Both were run on one day of 6.5 million facts on the same two, then crowded, CPUs:
DuckDB 1.4 s, Spark 4.3 (`local[2]`) 33 s after a start of 27 s, with the same 20 rows, to 4 · 10⁻¹³. So Spark begins to pay where DuckDB would
need more than a machine: at the figure of `lake.p50_ms_sql`, {plain(lake["p50_ms_sql"] / 1000)} s for {rounded(lake["facts"])} facts, 10¹⁰ facts take {duration(taken)} on {lake["cpus"]} CPUs."""
