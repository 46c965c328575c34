"""Whether memory stays flat and ingestion keeps pace while a simulated fleet is visited for half an hour.

    make soak                                        # 30 minutes, 1 000 machines
    python -m benchmarks.soak --minutes 5 --machines 200
    SIZE=smallest python -m benchmarks.soak          # a few seconds of 20 machines: does it work?

Runs its own `fleetprof up --simulate`, sends a browser's requests to its API every ten seconds, and samples the memory
of every part, the database's size and the captures waiting to be ingested. Figures go to results/soak.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.report import Report, at_most, exactly
from benchmarks.size import Size, chosen
from benchmarks.soak.deployment import Ended, SoakDeployment, soak_deployment
from benchmarks.soak.memory import memory_mib
from benchmarks.soak.trend import WARM_UP, Trend, trend

EVERY_S: Final = 10.0
COLUMN_MINUTES: Final = 5
FILE_COLUMNS: Final = 120
MET: Final = 0.95
"""Share of the machines that count as nearly all."""
LEAST_MINUTES: Final = 4
"""Minutes; a shorter run has too few samples for a trend."""
_VERDICTS: Final = {True: "flat", False: "[bold red]grows", None: "no trend: too few samples"}


@dataclass
class Samples:
    """Samples in order; a part that did not exist at a time has no sample of it."""

    hours: list[float] = field(default_factory=list)
    memory: list[dict[str, float]] = field(default_factory=list)
    counts: list[dict[str, float]] = field(default_factory=list)
    caches: list[dict[str, float]] = field(default_factory=list)
    """Caches of the API."""
    slowest_s: list[float] = field(default_factory=list)

    def trends(self) -> dict[str, Trend]:
        """Trends by part, for parts that existed nearly always.

        Uses the minimum of each minute: temporary memory of a query or merge is no leak, and appears more or less often
        depending on when samples are taken.
        """
        found = {}
        for part in sorted({name for parts in self.memory for name in parts}):
            there = [
                (h, parts[part]) for h, parts in zip(self.hours, self.memory, strict=True) if part in parts
            ]
            if len(there) > 0.9 * len(self.hours):
                minutes = [int(hour * 60) for hour, _ in there]
                least = [
                    min(
                        (sample for at, sample in zip(minutes, there, strict=True) if at == minute),
                        key=itemgetter(1),
                    )
                    for minute in sorted(set(minutes))
                ]
                if len(least) >= LEAST_MINUTES:
                    found[part] = trend(*zip(*least, strict=True), warm_from=self.all_met())
        return found

    def all_met(self) -> float:
        """Hours until nearly every machine had been visited; before that, first visits make every part grow.

        A first visit assembles the machine's programs, reads their symbols, and has new stacks.
        """
        met = (h for h, counts in zip(self.hours, self.counts, strict=True) if counts["met"] >= MET)
        return next(met, self.hours[-1] if self.hours else 0.0)


def main() -> int:
    """Run it; 1 if a bar was missed, 2 if the run failed."""
    smallest = chosen() is Size.SMALLEST
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=0.2 if smallest else 30.0)
    parser.add_argument("--machines", type=int, default=20 if smallest else 1000)
    arguments = parser.parse_args()
    # A file has room for all columns, unlike the default width of 80.
    console = Console(width=None if sys.stdout.isatty() else FILE_COLUMNS)
    samples = Samples()
    try:
        with soak_deployment(arguments.machines) as stack:
            soak(stack, arguments.minutes, samples, console)
            complaints = stack.complaints()
    except Ended as error:
        console.print(str(error), style="red", highlight=False)
        return 2
    trends = samples.trends()
    show(samples, trends, console)
    results = report(samples, trends, complaints)
    results.note("minutes", arguments.minutes)
    results.note("machines", arguments.machines)
    results.show(console)
    for line, times in Counter(complaints).most_common(10):
        console.print(f"{times} × {line}", style="dim", highlight=False)
    console.print(results.written())
    return results.status


def soak(stack: SoakDeployment, minutes: float, samples: Samples, console: Console) -> None:
    """Sample until the time is over. Raises Ended."""
    begun = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("soaking", total=minutes * 60)
        while (now := time.monotonic() - begun) < minutes * 60:
            stack.check()
            # Between requests: their temporary memory has been released.
            samples.memory.append(memory_mib(stack.process.pid, stack.servers()))
            samples.slowest_s.append(stack.ask())
            samples.counts.append(stack.counts())
            samples.caches.append(stack.caches())
            samples.hours.append(now / 3600)
            latest = samples.counts[-1]
            status_text = f"{latest['ingested']:.0f} ingested, {latest['waiting']:.0f} waiting, {latest['to_merge']:.0f} to merge"
            progress.update(task, completed=now, description=status_text)
            time.sleep(max(0.0, EVERY_S - (time.monotonic() - begun - now)))


def show(samples: Samples, trends: dict[str, Trend], console: Console) -> None:
    """Print the memory of every part, and the API's caches."""
    table = Table(
        title=f"memory, MiB (shared memory left out); the least of {COLUMN_MINUTES} minutes",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    columns = [int(hour * 60 // COLUMN_MINUTES) for hour in samples.hours]
    table.add_column("minutes", no_wrap=True)
    for column in sorted(set(columns)):
        table.add_column(str((column + 1) * COLUMN_MINUTES), justify="right")
    table.add_column("MiB/h after warming up", justify="right", no_wrap=True)
    table.add_column("")
    for part, found in trends.items():
        slope = f"{found.per_hour:+.1f} ± {2 * found.error:.1f}"
        values = [parts.get(part) for parts in samples.memory]
        table.add_row(part, *least(columns, values), slope, _VERDICTS[found.flat])
    for cache in samples.caches[-1]:
        table.add_row(f"  api: {cache}", *least(columns, [each.get(cache) for each in samples.caches]))
    console.print(table)


def least(columns: list[int], values: list[float | None]) -> list[str]:
    """The minimum of each column's values, as text."""
    found = []
    for column in sorted(set(columns)):
        there = [
            value for at, value in zip(columns, values, strict=True) if at == column and value is not None
        ]
        found.append(f"{min(there):,.1f}" if there else "")
    return found


def report(samples: Samples, trends: dict[str, Trend], complaints: list[str]) -> Report:
    """The figures with their bars."""
    results = Report("soak", peer="")
    for part, found in trends.items():
        results.add(f"{part}_mib_end", found.end)
        results.add(f"{part}_mib_peak", max(parts.get(part, 0.0) for parts in samples.memory))
        results.add(f"{part}_mib_per_hour", found.per_hour)
    results.add("parts_growing", sum(found.flat is False for found in trends.values()), exactly(0))
    results.add("parts_without_trend", sum(found.flat is None for found in trends.values()), exactly(0))
    first, last = samples.counts[0], samples.counts[-1]
    results.add("minutes_until_machines_met", 60 * samples.all_met())
    results.add("visits_ingested", int(last["ingested"] - first["ingested"]))
    warm = samples.counts[round(WARM_UP * len(samples.counts)) :]
    results.add("lag_s_worst", max(counts["lag_s"] for counts in warm), at_most(60))
    results.add("waiting_at_end", int(last["waiting"]))
    results.add("to_merge_at_end", int(last["to_merge"]))
    results.add("quarantined", int(last["quarantined"]), exactly(0))
    # The API's caches of dictionaries grow with a young store, which is no leak.
    results.add("stacks_start", int(first["stacks"]))
    results.add("stacks_end", int(last["stacks"]))
    for cache, value in samples.caches[-1].items():
        results.add(f"api_cache_{cache}_end", value)
    results.add("database_mib_start", first["database_mib"])
    results.add("database_mib_end", last["database_mib"])
    results.add("answer_s_worst", max(samples.slowest_s))
    results.add("complaints_in_logs", len(complaints), exactly(0))
    return results


if __name__ == "__main__":
    sys.exit(main())
