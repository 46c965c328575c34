"""The arithmetic of docs/scaling.md: from measured figures to fleets of 10 to 100 000 machines.

    python -m benchmarks.scaling     # writes the tables of docs/scaling.md again, after a benchmark was run

Every figure is a product of ones in `benchmarks/results/`, by the formulas that the page shows.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).with_name("results")
PAGE: Final = Path(__file__).parents[1] / "docs/scaling.md"
FLEETS: Final = (10, 100, 1_000, 10_000, 100_000)
DEFAULT_VISITS: Final = 4_320
"""A day, of the standing campaign: 3 a minute."""
RAW_DAYS, HOUR_DAYS, CELL_DAYS, LAKE_DAYS = 35, 35, 463, 1100
"""Raw captures and profiles; cells of hours; cells of days, buckets and visits, which go in whole buckets of 64 days, so
that 400 become as many as 463; the lake."""
VISIT_ROW_BYTES: Final = 920
"""Of `visit`, `capture`, `capture_segment`, `coverage` and `exposure`, a visit. It and the next two were measured by hand, of a
day with 3 946 visits over its 24 hours: the benchmark's fleet, 2 campaigns, 8 strata, 10⁶ stacks, 28.8 million facts."""
BUCKET_BYTES: Final = 10.0
"""A fact, in buckets of 4, 16 and 64 days (`roll_weighted`) that had that day alone. At most: days share stacks."""
WHOLE_DAY_BYTES: Final = 4.7
"""A fact, in the cells of that day."""
DAY_S: Final = 86_400
_CPUS: Final = 64
_PROMISED: Final = 0.1
_MICRO: Final = 1e-6
_LARGE: Final = 1e6


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
    land_s: float
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
    """In cells of days with few visits: the benchmark's have them in an hour and a half, and share little."""
    visit_bytes: float
    """A visit, whatever its facts: its rows, and one for each of its CPUs."""
    lake_bytes: float
    stack_bytes: float


def measured(folder: Path = RESULTS) -> Measured:
    """The figures of the last runs."""
    overhead, gateway, store, lake = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("overhead", "gateway", "store", "lake")
    )
    # What is loaded in bulk has no lines, no CPUs and no binaries: these are of the captures that were landed.
    landed = store["facts"] / store["facts_landed"]
    kernel_s = lake["samples_per_visit"] * overhead["kernel_us_per_sample"] * _MICRO
    reading_s = lake["samples_per_visit"] * gateway["cpu_ms_per_1000_samples"] * _MICRO
    return Measured(
        visit_cpu_s=overhead["visit_start_cpu_ms"] / 1000 + reading_s + kernel_s,
        samples_per_visit=lake["samples_per_visit"],
        facts_per_visit=lake["facts_per_visit"],
        raw_bytes_per_sample=gateway["bytes_per_sample"],
        halfwidth=overhead["rel_halfwidth_1pct_day"],
        land_s=store["land_cpu_us_per_fact"] * _MICRO,
        roll_s=(store["roll_cpu_us_per_fact"] + store["fold_cpu_us_per_fact"]) * _MICRO,
        server_s=(
            store["server_cpu_us_per_fact"]
            + store["fold_server_cpu_us_per_fact"]
            + lake["export_server_cpu_us_per_fact"]
        )
        * _MICRO,
        export_s=lake["export_cpu_us_per_fact"] * _MICRO,
        profile_bytes=store["bytes_per_fact_profile"]
        + store["bytes_per_fact_chunk"]
        + landed * (store["bytes_per_fact_line_chunk"] + store["bytes_per_fact_capture_binary"]),
        hour_bytes=store["bytes_per_fact_roll"],
        day_bytes=store["bytes_per_fact"] - store["bytes_per_fact_unfolded"],
        visit_bytes=landed * store["bytes_per_fact_capture_cpu"] * lake["facts_per_visit"] + VISIT_ROW_BYTES,
        lake_bytes=lake["bytes_per_fact"],
        stack_bytes=store["bytes_per_stack"],
    )


@dataclass(frozen=True)
class Fleet:
    """What a fleet with so many visits a day needs."""

    machines: int
    visits: float
    given: Measured

    @property
    def facts(self) -> float:
        """A day."""
        return self.visits * self.given.facts_per_visit

    @property
    def overhead(self) -> float:
        """Share of the fleet's CPU time."""
        return self.visits * self.given.visit_cpu_s / (self.machines * _CPUS * DAY_S)

    @property
    def halfwidth(self) -> float:
        """Of a 1 % function of the whole fleet, after a day."""
        return self.given.halfwidth * (DEFAULT_VISITS / self.visits) ** 0.5

    @property
    def least_part(self) -> float:
        """Share of the machines that an application must run on for ± 10 % of its own 1 % function after 30 days."""
        needed = DEFAULT_VISITS * (self.given.halfwidth / _PROMISED) ** 2
        return needed / (30 * self.visits)

    @property
    def profiles(self) -> float:
        """Bytes in PostgreSQL, once retention has begun to drop them; so are the next ones."""
        return self.facts * self.given.profile_bytes * RAW_DAYS

    @property
    def hours(self) -> float:
        """Cells of hours."""
        return self.facts * self.given.hour_bytes * HOUR_DAYS

    @property
    def days(self) -> float:
        """Cells of days."""
        return self.facts * WHOLE_DAY_BYTES * CELL_DAYS

    @property
    def buckets(self) -> float:
        """Cells of many days."""
        return self.facts * BUCKET_BYTES * CELL_DAYS

    @property
    def rows_of_visits(self) -> float:
        """Rows that stay as long as cells do."""
        return self.visits * self.given.visit_bytes * CELL_DAYS

    def cores(self, cpu_s_per_fact: float) -> float:
        """Cores that are busy all day."""
        return self.facts * cpu_s_per_fact / DAY_S

    def rows(self) -> list[tuple[str, str]]:
        """What the page's table shows, by name."""
        given = self.given
        raw = self.visits * given.samples_per_visit * given.raw_bytes_per_sample
        return [
            ("visits a day", _count(self.visits)),
            ("of a machine", _plain(self.visits / self.machines)),
            ("share of the fleet's CPU time", f"{_plain(100 * self.overhead)} %"),
            ("core-hours of the fleet, a day", _plain(self.visits * given.visit_cpu_s / 3600)),
            ("a 1 % function of the fleet, after a day", f"± {_plain(100 * self.halfwidth)} %"),
            (
                "… of what runs on this share of machines, ± 10 % after 30 days",
                f"{_plain(100 * self.least_part)} %" if self.least_part <= 1 else "not even all",
            ),
            ("facts a day", _count(self.facts)),
            ("raw captures, a day", _size(raw)),
            ("raw captures kept (35 days)", _size(raw * RAW_DAYS)),
            ("network, mean", f"{_size(raw / DAY_S)}/s"),
            ("PostgreSQL: profiles and lines (35 days)", _size(self.profiles)),
            ("PostgreSQL: cells of hours (35 days)", _size(self.hours)),
            ("PostgreSQL: cells of days (463 days)", _size(self.days)),
            ("PostgreSQL: buckets of days, at most (463 days)", _size(self.buckets)),
            ("PostgreSQL: visits (463 days)", _size(self.rows_of_visits)),
            (
                "PostgreSQL, at most, stacks apart",
                _size(self.profiles + self.hours + self.days + self.buckets + self.rows_of_visits),
            ),
            ("lake, a day", _size(self.facts * given.lake_bytes)),
            ("lake kept (1 100 days)", _size(self.facts * given.lake_bytes * LAKE_DAYS)),
            ("busy cores: workers", _plain(self.cores(given.land_s))),
            ("busy cores: collector", _plain(self.cores(given.roll_s + given.export_s))),
            ("busy cores: PostgreSQL", _plain(self.cores(given.server_s))),
            (
                "core-hours of servers, a day",
                _plain(24 * self.cores(given.land_s + given.roll_s + given.export_s + given.server_s)),
            ),
        ]


def table(fleets: list[Fleet]) -> str:
    """The fleets side by side, as Markdown."""
    names = [name for name, _ in fleets[0].rows()]
    columns = [[value for _, value in fleet.rows()] for fleet in fleets]
    lines = [
        f"| machines | {' | '.join(_count(fleet.machines) for fleet in fleets)} |",
        "|---|" + "---:|" * len(fleets),
    ]
    lines += [f"| {name} | {' | '.join(column[i] for column in columns)} |" for i, name in enumerate(names)]
    return "\n".join(lines)


def tables(given: Measured) -> dict[str, str]:
    """The page's tables by the names of their places."""
    return {
        "measured": _inputs(given),
        "default": table([Fleet(machines, DEFAULT_VISITS, given) for machines in FLEETS]),
        "alike": table([Fleet(machines, DEFAULT_VISITS / 1000 * machines, given) for machines in FLEETS]),
    }


def _inputs(given: Measured) -> str:
    rows = [
        (
            "a visit: samples",
            _count(given.samples_per_visit),
            "`lake.samples_per_visit`: 64 CPUs, made fleet",
        ),
        ("a visit: facts", _count(given.facts_per_visit), "`lake.facts_per_visit`"),
        (
            "a visit: CPU of the machine",
            f"{_plain(given.visit_cpu_s)} s",
            "`overhead.visit_start_cpu_ms` + samples × (`gateway.cpu_ms_per_1000_samples` + `overhead.kernel_us_per_sample`)",
        ),
        ("a sample, raw", f"{_plain(given.raw_bytes_per_sample)} B", "`gateway.bytes_per_sample`"),
        ("a fact: workers", f"{_plain(given.land_s / _MICRO)} µs", "`store.land_cpu_us_per_fact`"),
        (
            "a fact: collector, cells",
            f"{_plain(given.roll_s / _MICRO)} µs",
            "`store.roll_cpu_us_per_fact` + `store.fold_cpu_us_per_fact`",
        ),
        ("a fact: collector, lake", f"{_plain(given.export_s / _MICRO)} µs", "`lake.export_cpu_us_per_fact`"),
        (
            "a fact: PostgreSQL",
            f"{_plain(given.server_s / _MICRO)} µs",
            "`store.server_cpu_us_per_fact` + `store.fold_server_cpu_us_per_fact` + `lake.export_server_cpu_us_per_fact`",
        ),
        (
            "a fact in PostgreSQL",
            f"{_plain(given.profile_bytes)} B",
            "`store.bytes_per_fact_` profile + chunk + (line_chunk + capture_binary) · `facts` / `facts_landed`",
        ),
        ("… in cells of hours", f"{_plain(given.hour_bytes)} B", "`store.bytes_per_fact_roll`"),
        (
            "… in cells of days with few visits",
            f"{_plain(given.day_bytes)} B",
            "`store.bytes_per_fact` − `store.bytes_per_fact_unfolded`",
        ),
        ("… in cells of whole days", f"{_plain(WHOLE_DAY_BYTES)} B", "by hand: 3 946 visits in 24 hours"),
        ("… in buckets of days, at most", f"{_plain(BUCKET_BYTES)} B", "by hand, the same day"),
        (
            "a visit, its rows",
            f"{_plain(given.visit_bytes / 1000)} kB",
            "`store.bytes_per_fact_capture_cpu` · `facts` / `facts_landed` · `lake.facts_per_visit`, and by hand",
        ),
        ("a fact in the lake", f"{_plain(given.lake_bytes)} B", "`lake.bytes_per_fact`"),
        ("a stack, once", f"{_plain(given.stack_bytes)} B", "`store.bytes_per_stack`"),
        (
            "a 1 % function after a day of 4 320 visits",
            f"± {_plain(100 * given.halfwidth)} %",
            "`overhead.rel_halfwidth_1pct_day`",
        ),
    ]
    return "\n".join(
        ["| what | figure | from |", "|---|---:|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]
    )


def written(page: str, made: dict[str, str]) -> str:
    """The page with these tables in their places, each between two comments."""
    for name, text in made.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}{text}{end}{after}"
    return page


def _plain(value: float) -> str:
    """Two significant digits, without an exponent."""
    if value == 0:
        return "0"
    if value >= 100:
        return _count(float(f"{value:.2g}"))
    text = f"{float(f'{value:.2g}'):.10f}".rstrip("0")
    return text.rstrip(".")


def _count(value: float) -> str:
    if value >= _LARGE:
        exponent = len(str(int(value))) - 1
        digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
        power = "".join(digits[int(digit)] for digit in str(exponent))
        return f"{value / 10**exponent:.1f} · 10{power}"
    return f"{value:,.0f}".replace(",", " ") if value >= 100 or value == int(value) else f"{value:.3g}"


def _size(value: float) -> str:
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    step = 0
    while value >= 1000 and step < len(units) - 1:
        value, step = value / 1000, step + 1
    return f"{_plain(value)} {units[step]}"


def main() -> int:
    """Write the page again."""
    PAGE.write_text(written(PAGE.read_text(), tables(measured())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
