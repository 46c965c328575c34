"""What landing, keeping and asking for a fleet's facts costs, beside plain rows and DuckDB on Parquet.

    make bench-store          # about 10⁷ facts in under five minutes; FULL=1: 10⁸

A made fleet of the shape of a real one: 8 strata, 2 campaigns, 200 programs, 20 to 100 process groups a
visit. Some facts are loaded in bulk, their stacks known; others are landed end to end by two
processes, from compressed captures and resolved frames, a fifth of the stacks never met before, while
the roller merges what has landed. `land_facts_per_s` counts until the last of it is merged.

Before the clock runs, these two processes are shown every stack met so far and every name, as workers have
met them after weeks: `land_facts_per_s`, `land_facts_per_cpu_s` and `land_cpu_us_per_fact` are of such
processes. `land_cpu_us_per_fact_cold` is what the same two took for their first captures, when they
remembered nothing: as a worker does after a start, and after each weekly sweep of the dictionaries.

Then a month of history is loaded, merged, folded and compacted as the collector does, and random questions are
asked of it: applications drawn by their traffic, windows of whole hours, intervals included, no answer kept. The
peers get the history of one campaign and must give the same answers; they are asked for observed sums only.
Last, the same questions while captures land. A run leaves nothing behind and resumes nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import geometric_mean
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.report import Report, at_least, at_most
from benchmarks.store.database import OPTIONS, fresh_database
from benchmarks.store.run import DEFAULT, FULL, VISITS_AN_HOUR, Found, Size, measure

_STEPS: Final = 14
_QUESTIONS: Final = {
    "app_week_flame": 20.0, "fleet_month_table": 60.0, "raw_filter": 250.0, "callers": 60.0, "http_flame": None,
    "fleet_month_table_undecoded": None,
    "app_week_flame_undecoded": None,
}  # fmt: skip
"""Kinds of questions, and in how many milliseconds 95 of 100 are to be answered."""
_SHOWN_FIRST: Final = "by processes that were shown every stack met and every name before"
_TERMINATED: Final = 128 + signal.SIGTERM
_DICTIONARIES: Final = ("stack", "stack_block", "function")
_TOLD_TABLES: Final = (
    "profile", "chunk", "line_chunk", "stack", "stack_block", "function", "roll", "dim_value", "label_set", "capture_cpu",
    "capture_binary",
)  # fmt: skip


def report(found: Found, size: Size) -> Report:
    """The figures with their bars (the performance we promise)."""
    told = Report("store-full" if size is FULL else "store", peer="one row a sample")
    rolling = found.rolling
    assert rolling is not None
    facts = sum(landing.facts for landing in found.landings)
    began = min(landing.began for landing in found.landings)
    landed = max(landing.ended for landing in found.landings)
    merged = max(rolling.drained, landed)
    bulk = found.bulk_facts / found.bulk_s
    rows = found.row_facts / found.rows_s
    told.add("facts", found.facts)
    told.add("bulk_facts_per_s", bulk, at_least(3e6), peer=f"{rows:,.0f}")
    told.add(
        "land_facts_per_s",
        facts / (merged - began),
        at_least(4e5),
        peer=f"captures, until they are in cells; {_SHOWN_FIRST}",
    )
    told.add("landed_facts_per_s", facts / (landed - began), peer="until they can be asked for")
    landing_cpu_s = sum(each.cpu_s for each in found.landings)
    # The roller has merged what was landed before the clock ran, too.
    roll_cpu_s = rolling.cpu_s * facts / max(rolling.facts, facts)
    # Folding is of all facts, those loaded in bulk too.
    fold_cpu_s = (found.fold_cpu_s + found.fold_server_cpu_s) * facts / found.facts
    told.add(
        "land_facts_per_cpu_s",
        facts / (landing_cpu_s + roll_cpu_s + found.server_cpu_s + fold_cpu_s),
        peer="of landing, merging, folding and the server together: what others do on the machine does not count;"
        f" {_SHOWN_FIRST}",
    )
    told.add("land_cpu_us_per_fact", landing_cpu_s / facts * 1e6, peer=_SHOWN_FIRST)
    told.add(
        "land_cpu_us_per_fact_cold",
        sum(each.cold_cpu_s for each in found.landings)
        / sum(each.cold_facts for each in found.landings)
        * 1e6,
        peer="by the same processes before, when they remembered no stack and no function yet",
    )
    told.add("roll_cpu_us_per_fact", rolling.cpu_s / max(rolling.facts, 1) * 1e6)
    told.add(
        "server_cpu_us_per_fact",
        found.server_cpu_s / facts * 1e6,
        peer="landing, merging, and its own chores",
    )
    told.add(
        "captures_per_transaction",
        sum(x.captures for x in found.landings) / sum(x.transactions for x in found.landings),
    )
    told.add("roll_facts_per_s", found.rolled_bulk_facts / max(found.rolled_bulk_s, 1e-9))
    told.add("roll_lag_s", merged - landed)
    told.add("roll_longest_queue", rolling.longest_wait, peer="visits")
    told.add("load_speedup_vs_rows", bulk / rows)
    everything = sum(found.sizes.values())
    dictionaries = sum(found.sizes.get(name, 0) for name in _DICTIONARIES)
    row_bytes = found.row_bytes / found.row_facts
    told.add(
        "bytes_per_fact",
        (everything + found.folded_bytes) / found.facts,
        at_most(12),
        peer=f"{row_bytes:.1f}, stacks and names apart; with the cells of whole days,"
        " which an hour and a half of each makes as large as its hours'",
    )
    told.add(
        "bytes_per_fact_unfolded",
        everything / found.facts,
        peer="while its day goes on",
    )
    told.add("fold_facts_per_s", found.facts / max(found.fold_s, 1e-9))
    told.add("fold_cpu_us_per_fact", found.fold_cpu_s / found.facts * 1e6)
    told.add("fold_server_cpu_us_per_fact", found.fold_server_cpu_s / found.facts * 1e6)
    told.add("bytes_per_fact_without_stacks", (everything - dictionaries) / found.facts)
    told.add("bytes_per_stack", (found.sizes["stack"] + found.sizes["stack_block"]) / found.stacks)
    told.add("stacks", found.stacks)
    told.add("profiles", found.profiles)
    told.add("median_facts_per_profile", found.median_facts)
    for name in _TOLD_TABLES:
        told.add(f"bytes_per_fact_{name}", found.sizes.get(name, 0) / found.facts)
    _answers(told, found)
    told.note("rows_facts_per_s", round(rows))
    told.note("rows_bytes_per_fact", round(row_bytes, 1))
    told.note("facts_landed", facts)
    told.note("facts_asked", found.asked_facts)
    told.note("new_stacks_share", size.new_share)
    told.note("visits_an_hour", VISITS_AN_HOUR)
    told.note("strata", 8)
    told.note("campaigns", 2)
    told.note("server_settings", ", ".join(f"{name}={value}" for name, value in OPTIONS.items()))
    return told


def _answers(told: Report, found: Found) -> None:
    """How long questions took: 95 of 100 at most so long."""
    assert found.idle is not None
    assert found.landing is not None
    for kind, bar in _QUESTIONS.items():
        limit = None if bar is None else at_most(bar)
        told.add(f"p95_ms_{kind}", found.idle.p95(kind), limit, peer=f"median {found.idle.median(kind):.1f}")
    for kind in _QUESTIONS:
        told.add(
            f"p95_ms_{kind}_landing", found.landing.p95(kind), peer=f"median {found.landing.median(kind):.1f}"
        )
    for answered, when in ((found.idle, ""), (found.landing, "_landing")):
        for kind in _QUESTIONS:
            if answered.refused[kind]:
                told.add(
                    f"refused_{kind}{when}",
                    answered.refused[kind],
                    peer=f"of {len(answered.ms[kind])}, for their time or memory",
                )
    for name in ("rows", "duckdb"):
        ratios = [getattr(each, name) / each.ours for each in found.compared]
        told.add(
            f"speedup_vs_{name}",
            geometric_mean(ratios),
            peer="; ".join(
                f"{each.kind} {getattr(each, name):.0f} ms, ours {each.ours:.1f}" for each in found.compared
            ),
        )
        for each, ratio in zip(found.compared, ratios, strict=True):
            told.note(f"speedup_vs_{name}_{each.kind}", round(ratio, 2))
    told.add("history_facts", found.history_facts, peer="of the month that questions are about")
    told.note("history_s", round(found.history_s, 1))


def main() -> int:
    """Measure, print, write results/store.json, or store-full.json. The exit status is 0 if it could be measured."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.store",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    # Whoever ends it must not leave the server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    size = FULL if os.environ.get("FULL") == "1" else DEFAULT
    console = Console()
    began = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with (
        tempfile.TemporaryDirectory(prefix="bench-store-") as folder,
        fresh_database() as server,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        task = progress.add_task("starting", total=_STEPS)

        def step(what: str) -> None:
            progress.update(task, description=what, advance=1)
            if not console.is_terminal:  # a log has no progress bar, and the full size takes half an hour
                print(f"{time.monotonic() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

        found = measure(server, size, Path(folder), step)
    told = report(found, size)
    told.show(console)
    console.print(f"\n{told.write()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
