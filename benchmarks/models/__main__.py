"""Every model beside the naive prediction and the noise floor, on third-party data or with known true values.

    make bench-models
    python -m benchmarks.models [--data DIR] [--seed N]
    SIZE=smallest python -m benchmarks.models   # few programs and seeds: does it work?

Only cBench's times at several frequencies are measured and published by third parties. Counters of one run
(`dvfs_one_run`), events and interference are simulated; the simulations contain effects that the models lack.
"""

from __future__ import annotations

import os

# The algebra is small: threads of its library would only compete with each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.models import cbench, counted_runs, interference, planted_events
from benchmarks.report import Bar, Report, at_least, at_most, exactly
from benchmarks.size import Size, chosen

_LOG_WIDTH = 150
_PROGRAMS = 200
_IRRELEVANT = 37
_EVENT_SEEDS = 5
_WORSE = -0.01
"""Least accepted drop of the error with fewer events: with 24 runs for validation, smaller changes are noise."""


def main(arguments: list[str]) -> int:
    """Run it; 0 if every bar is met."""
    smallest = chosen() is Size.SMALLEST
    parser = argparse.ArgumentParser(prog="benchmarks.models")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("FLEETPROF_BENCH_DATA"),
        help="folder with cBench's runs at several frequencies (default: $FLEETPROF_BENCH_DATA)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of what is simulated (default: 1)")
    wanted = parser.parse_args(arguments)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    report = Report("models", peer="beside it")
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("frequencies", total=4)
        complete = _cbench(report, console, Path(wanted.data) if wanted.data else None)
        progress.update(task, advance=1)
        _counted_runs(report, wanted.seed, 40 if smallest else _PROGRAMS)
        progress.update(task, advance=1, description="events")
        _events(report, wanted.seed, 2 if smallest else _EVENT_SEEDS)
        progress.update(task, advance=1, description="interference")
        _interference(report, wanted.seed, 3 if smallest else interference.TARGETS)
    report.show(console)
    if complete or smallest:
        console.print(report.written())
        return report.status
    console.print("not written: without the public data it is not complete")
    return 1


def _cbench(report: Report, console: Console, folder: Path | None) -> bool:
    try:
        found = cbench.measure(folder)
    except cbench.NoData as because:
        console.print(
            f"dvfs_cbench_mape is not measured: {because} The data are at {cbench.SOURCE}", markup=False
        )
        return False
    report.add(
        "dvfs_cbench_mape",
        float(found.model.mean()),
        at_most(0.01),
        peer=f"1/f {found.naive.mean():.2%} (at most {found.naive.max():.1%}); run to run {found.again.mean():.2%}",
    )
    report.add("dvfs_cbench_worst", float(found.model.max()))
    report.note("dvfs_cbench_naive_mape", round(float(found.naive.mean()), 5))
    report.note("dvfs_cbench_run_to_run", round(float(found.again.mean()), 5))
    report.note("dvfs_cbench_programs", found.programs)
    report.note("dvfs_cbench_runs", found.runs)
    return True


def _counted_runs(report: Report, seed: int, programs: int) -> None:
    found = counted_runs.measure(programs, seed)
    report.add(
        "dvfs_one_run_mape",
        float(found.model.mean()),
        at_most(0.03),
        peer=f"f/f0 {found.naive.mean():.2%}; errors of the clocks alone {found.noise.mean():.2%}",
    )
    report.add("dvfs_naive_mape", float(found.naive.mean()))
    report.add("dvfs_one_run_worst", float(found.model.max()), peer=f"f/f0 {found.naive.max():.1%}")
    report.note("dvfs_one_run_floor", round(float(found.noise.mean()), 5))
    report.note("dvfs_one_run_programs", found.programs)


def _events(report: Report, seed: int, seeds: int) -> None:
    """Average over several seeds: with a single one, the error fell or rose as other events left."""
    found = [planted_events.measure(_IRRELEVANT, seed + number) for number in range(seeds)]
    mined = [one.mined for one in found]
    error, baseline, everything = (
        np.array([getattr(one, name) for one in mined])
        for name in ("error", "baseline_error", "all_events_error")
    )
    falls, floor = everything - error, np.array([one.floor for one in found])
    report.add(
        "events_planted_found",
        float(np.mean([one.planted_found for one in found])),
        exactly(1),
        peer=f"of {found[0].events} events; {seeds} seeds: {', '.join(f'{one.planted_found:.2f}' for one in found)}",
    )
    report.add(
        "events_error",
        float(error.mean()),
        peer=f"mean IPC {baseline.mean():.1%}; the true law, averaged over what was not counted {floor.mean():.1%}",
    )
    report.add(
        "events_better_than_mean_by",
        float((baseline - error).mean()),
        Bar("> 0", lambda value: value > 0),
        peer=f"{(baseline - error).min():.1%} … {(baseline - error).max():.1%} by seed",
    )
    report.add(
        "events_error_falls_by",
        float(falls.mean()),
        at_least(_WORSE),
        peer=f"as others leave, on runs that judge: {falls.min():+.2%} … {falls.max():+.2%} by seed, deviation {falls.std(ddof=1):.2%}",
    )
    report.note("events_error_falls_by_deviation", round(float(falls.std(ddof=1)), 5))
    report.note("events_seeds", seeds)
    report.note("events_all_error", round(float(everything.mean()), 5))
    report.note("events_naive_error", round(float(baseline.mean()), 5))
    report.note("events_floor_error", round(float(floor.mean()), 5))
    report.note("events_intervals", sum(one.intervals for one in mined))
    report.note("events_kept", ", ".join(str(len(one.ranking)) for one in mined))


def _interference(report: Report, seed: int, targets: int) -> None:
    found = interference.measure(seed, targets)
    report.add(
        "interference_mae",
        float(found.model.mean()),
        at_most(0.02),
        peer=f"one plain regression {found.linear.mean():.4f}; two runs' errors {found.noise.mean():.4f}",
    )
    report.add(
        "interference_naive_mae", float(found.naive.mean()), peer="mean of the target's training mixes"
    )
    report.add("interference_worst", float(found.model.max()), peer=f"mean degradation {found.mean:.3f}")
    report.add("interference_interval_holds", found.held, peer="of 95 %")
    report.note("interference_linear_mae", round(float(found.linear.mean()), 5))
    report.note("interference_floor_mae", round(float(found.noise.mean()), 5))
    report.note("interference_unseen_mixes", len(found.model))
    report.note("interference_refused", found.refused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
