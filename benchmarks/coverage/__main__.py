"""Query the product thousands of times about a fleet with known true values, and count how often it is right.

    python -m benchmarks.coverage [--campaigns 40] [--pairs 300] [--seed 1]
    SIZE=smallest python -m benchmarks.coverage   # two campaigns: does it work?

Visits to a synthetic fleet (`fleet.py`: 8 strata, skewed load, bursts, functions on few machines, and 6 % of visits
failed on busy machines) become captures; `storage.ingest` ingests them into PostgreSQL, and `storage.query` responds.
Each window of a campaign is a replication: 50, 200 or 1 000 visits. Coverage is the share of 95 % intervals that
contain the true value, over functions and replications, including functions without samples. The oracle is the interval
of ± 1.96 true standard errors of the estimator.
"""

from __future__ import annotations

import os

# Two processes compute in parallel; threads of the algebra library would only compete for the CPUs.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from benchmarks.coverage import plan, store
from benchmarks.coverage.fleet import PLANTED, Fleet
from benchmarks.coverage.tally import Changes, Intervals, Totals
from benchmarks.coverage.worker_pool import Result, Task, WorkerPool, ask, compare, write
from benchmarks.report import Bar, Report, at_least, at_most
from benchmarks.size import Size, chosen
from services.embedded.postgres import EmbeddedPostgres
from storage import migrate
from storage.database import open_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LOG_WIDTH = 150
_FLEET_SEED = 1
_SMALLEST = 2, 4
"""Campaigns and pairs."""


def main(arguments: list[str]) -> int:
    """Run it; 0 if every bar is met."""
    campaigns, pairs = _SMALLEST if chosen() is Size.SMALLEST else (40, 300)
    parser = argparse.ArgumentParser(prog="benchmarks.coverage")
    parser.add_argument("--campaigns", type=int, default=campaigns, help="of 1 000 visits (default: 40)")
    parser.add_argument(
        "--pairs", type=int, default=pairs, help="comparisons of what is the same (default: 300)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the visits (default: 1)")
    wanted = parser.parse_args(arguments)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    report = measure(console, campaigns=wanted.campaigns, pairs=wanted.pairs, seed=wanted.seed)
    report.show(console)
    console.print(report.written())
    return report.status


def measure(console: Console, *, campaigns: int, pairs: int, seed: int) -> Report:
    """Make the visits, ingest them, query and count."""
    fleet = Fleet(_FLEET_SEED, days=plan.DAYS)
    grown = max(1, campaigns // 4)
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(console=console, transient=True))
        # PostgreSQL's own user must be able to enter it.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fp-cover-", dir="/tmp")))
        folder.chmod(0o711)
        server = EmbeddedPostgres(folder / "postgres", options={"fsync": "off", "full_page_writes": "off"})
        server.start()
        stack.callback(server.stop)
        migrate.upgrade(server.url())
        engine = open_engine(server.url(), application="coverage")
        stack.callback(engine.dispose)
        pool = WorkerPool(server.url(), fleet, store.prepare(engine, fleet), seed)
        stack.callback(pool.close)

        def each(what: str, do: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterable[Result]:
            return progress.track(pool.each(do, tasks), total=len(tasks), description=what)

        paced = max(2, campaigns // 4)
        counts = {plan.Kind.PLAIN: campaigns, plan.Kind.GROWN: grown, plan.Kind.PACED: paced}
        tasks = [(number, kind) for kind, count in counts.items() for number in range(count)]
        drawn = sum(each("visits", write, tasks))
        store.merge(engine, campaigns * plan.HOURS * plan.ANSWERED_PER_HOUR // 2)
        totals = Totals(fleet)
        intervals = []
        for planted, visits in zip(PLANTED, (50, 200, 1000), strict=True):
            tally = Intervals(fleet, planted, visits)
            asked = plan.windows(campaigns, visits)
            for window, answered in zip(asked, each(f"{visits} visits", ask, asked), strict=True):
                tally.add(window, answered)
                if visits == 1000:
                    totals.add(window, answered)
            intervals.append(tally)
        changed_pace = Totals(fleet, plan.Kind.PACED)
        asked = plan.paced_windows(paced)
        for window, answered in zip(asked, each("changed pace", ask, asked), strict=True):
            changed_pace.add(window, answered)
        nulls = []
        for what, same in (
            ("200:200", plan.equal_pairs(campaigns, pairs)),
            ("1000:30", plan.canary_pairs(campaigns, pairs)),
        ):
            changes = Changes(fleet, what)
            for pair, found in zip(same, each(what, compare, same), strict=True):
                changes.add(pair, found)
            nulls.append(changes)
        power = Changes(fleet, "1000:1000")
        changed = plan.grown_pairs(campaigns, grown)
        for pair, found in zip(changed, each("changes", compare, changed), strict=True):
            power.add(pair, found)
        unadjusted = totals.unadjusted(pool_seed=seed, campaigns=campaigns)
    report = Report("coverage", peer="beside")
    _report_intervals(report, intervals)
    _report_paths(report, intervals[-1])
    _report_totals(report, totals, unadjusted)
    report.add(
        "pace_change_bias_in_se",
        abs(changed_pace.bias) / changed_pace.standard_error,
        at_most(2),
        peer=f"{changed_pace.bias:+.2%} ± {changed_pace.standard_error:.2%} of the total",
    )
    report.note("pace_change_total_covered", round(changed_pace.coverage, 4))
    report.note("pace_change_campaigns", paced)
    _report_changes(report, nulls, power)
    report.add("visits_drawn", drawn)
    return report


def _report_intervals(report: Report, intervals: list[Intervals]) -> None:
    for tally in intervals:
        name = f"{tally.planted.name}_{tally.visits}"
        report.add(
            f"coverage_{name}",
            tally.coverage,
            between(0.93, 0.97),
            peer=f"± {tally.standard_error:.3f}; truth above {tally.below:.3f}, below {tally.above:.3f}",
        )
        report.note(f"coverage_{name}_standard_error", round(tally.standard_error, 4))
        report.note(f"truth_above_{name}", round(tally.below, 4))
        report.note(f"truth_below_{name}", round(tally.above, 4))
        report.note(f"marked_few_{name}", round(tally.low_confidence, 4))
        report.note(f"functions_{name}", tally.planted.count)
        report.note(f"replications_{name}", tally.replications)
        report.note(f"visits_ingested_{name}", round(tally.ingested, 1))
    widest = max(intervals, key=lambda tally: tally.width)
    widths = ", ".join(f"{tally.width:.2f}" for tally in intervals)
    report.add("width_vs_oracle", widest.width, at_most(1.25), peer=f"{widths} of the three")


def _report_paths(report: Report, whole: Intervals) -> None:
    """Whole days must be served from merged cells and from cells with chunks; hours from each visit's chunks."""
    shares = {path: whole.paths.count(path) / whole.replications for path in ("cells", "mixed")}
    spelled = ", ".join(f"{share:.2f} {path}" for path, share in shares.items())
    report.add("least_path_share", min(shares.values()), at_least(0.25), peer=f"whole days: {spelled}")


def _report_totals(report: Report, totals: Totals, unadjusted: float) -> None:
    report.add(
        "bias_in_se",
        abs(totals.bias) / totals.standard_error,
        at_most(2),
        peer=f"{totals.bias:+.2%} of the total",
    )
    report.add("bias_percent", 100 * totals.bias, peer=f"{unadjusted:+.2%} without utilisation classes")
    report.note("bias_percent_unadjusted", round(100 * unadjusted, 3))
    report.note("bias_standard_error_percent", round(100 * totals.standard_error, 3))
    report.add("coverage_total_1000", totals.coverage)


def _report_changes(report: Report, nulls: list[Changes], power: Changes) -> None:
    worst = max(nulls, key=lambda changes: changes.any_false)
    rates = ", ".join(f"{null.what}: {null.any_false:.3f} ± {null.standard_error:.3f}" for null in nulls)
    report.add("null_any_false", worst.any_false, at_most(0.07), peer=rates)
    for null in nulls:
        key = null.what.replace(":", "_")
        report.note(f"null_any_false_{key}", round(null.any_false, 4))
        report.note(f"null_comparisons_{key}", null.comparisons)
    report.note("power_given", round(power.stated, 3))
    report.add(
        "power_x1_5", power.found, peer=f"{power.stated:.2f} as the product states it; 1 % at {power.what}"
    )
    report.add("any_false_beside_changes", power.any_false)


def between(low: float, high: float) -> Bar:
    """Met by both limits and values between them."""
    return Bar(f"{low:g}…{high:g}", lambda value: low <= value <= high)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
