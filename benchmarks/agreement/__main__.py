"""Compare profiles of the same programs in the same seconds by the whole product and by `perf`.

    python -m benchmarks.agreement [--seconds 30] [--rate 99] [program …]

Real programs run; the gateway samples them, a visit returns the capture, the symbolizer ingests it into PostgreSQL,
and the query engine responds. In the same window `perf record` samples the whole machine twice: with copies of the
stack (`--call-graph dwarf`) and with frame pointers (`-g`). For every program the comparison covers

* self of the ten hottest functions of either side, against both recordings. The product's leaf is the innermost
  inlined call. perf's leaf is therefore resolved with `addr2line --inlines`, as perf does itself. Functions without a
  name are compared by their start (`readelf --debug-dump=frames`);
* totals of the ten largest, if both sides' stacks reach the thread's start in 99 of 100 samples;
* the program's share of all samples, which checks its label.

`SIZE=smallest` compares two programs for two seconds, without judging the shares, which are too rough.

Names of one address (aliases) count as one function; `shares.py` defines when two shares agree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.agreement import product as whole_product
from benchmarks.agreement.peer import PerfUnusable
from benchmarks.agreement.programs import RECIPES, prepare
from benchmarks.agreement.run import PRESENCE, SELF, SELF_BY_FRAME_POINTER, TOTAL, Window, look
from benchmarks.agreement.shares import FALSE_ALARM, Comparison, allowed, spread
from benchmarks.report import Report, at_most
from benchmarks.size import Size, chosen, skip
from services.embedded.postgres import EmbeddedPostgres
from storage import migrate
from storage.archive import Archive
from storage.database import open_engine

# Programs of one window share its CPUs, and each needs samples.
GROUPS: Final = (
    ("python", "gzip", "perl", "dd"),
    ("c", "cplusplus", "rust", "gofmt"),
    ("deep", "threads", "children", "late"),
    ("short",),
)
SMALLEST: Final = (("python", "gzip"),)
_SMALLEST_S: Final = 2.0
_SHOWN: Final = 100
_LOG_WIDTH: Final = 150


def main(arguments: list[str]) -> int:
    """Run it; 0 if every share agrees."""
    smallest = chosen() is Size.SMALLEST
    parser = argparse.ArgumentParser(prog="benchmarks.agreement")
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SMALLEST_S if smallest else 30.0,
        help="of each window (default: 30)",
    )
    parser.add_argument("--rate", type=int, default=99, help="samples per second and CPU (default: 99)")
    parser.add_argument("program", nargs="*", help=f"of: {', '.join(RECIPES)} (default: all)")
    wanted = parser.parse_args(arguments)
    if unknown := set(wanted.program) - RECIPES.keys():
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    groups = (wanted.program,) if wanted.program else SMALLEST if smallest else GROUPS
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    try:
        windows, missing = measure(groups, wanted.seconds, wanted.rate)
    except PerfUnusable as error:
        skip(str(error))
    except whole_product.ProductFailed as error:
        console.print(f"agreement: {error}", style="red")
        return 2
    comparisons = [comparison for window in windows for comparison in window.comparisons]
    limit = allowed(len(comparisons))
    outside = [comparison for comparison in comparisons if abs(comparison.deviation) > limit]
    _show_programs(console, windows, limit)
    _show_outside(console, outside)
    for sentence in missing:
        console.print(f"left out: {sentence}")
    report = _report(windows, comparisons, outside, limit)
    report.show(console)
    if not wanted.program:
        console.print(report.written())
    return report.status


def measure(
    groups: tuple[tuple[str, ...] | list[str], ...], seconds: float, rate_hz: int
) -> tuple[list[Window], list[str]]:
    """One window per group of programs, and sentences about unavailable programs."""
    windows, missing = [], []
    with ExitStack() as stack:
        # PostgreSQL's own user must be able to enter it.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fp-agree-", dir="/tmp")))
        folder.chmod(0o711)
        server = EmbeddedPostgres(folder / "postgres", options={"fsync": "off"})
        server.start()
        stack.callback(server.stop)
        migrate.upgrade(server.url())
        engine = open_engine(server.url(), application="agreement")
        stack.callback(engine.dispose)
        address = stack.enter_context(whole_product.gateway(folder / "gateway.sock", folder / "gateway.log"))
        product = whole_product.Product(engine, Archive(str(folder / "archive")), folder / "symbols", address)
        stack.callback(product.close)
        for number, names in enumerate(groups):
            place = folder / f"window-{number}"
            place.mkdir()
            programs, absent = prepare(place, names)
            missing += absent
            if programs:
                windows.append(look(product, programs, place, seconds, rate_hz))
    return windows, missing


def _show_programs(console: Console, windows: list[Window], limit: float) -> None:
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("application")
    for heading in (
        "perf", "perf -g", "ours", "rooted: perf", "perf -g", "ours", "compared", "outside", "worst σ", "top 10",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for window in windows:
        for seen in window.seen:
            name = seen.program.application
            its = [comparison for comparison in window.comparisons if comparison.program == name]
            table.add_row(
                name,
                str(seen.dwarf.samples),
                str(seen.frame_pointer.samples),
                str(seen.ours.samples),
                f"{seen.dwarf.rooted:.1%}",
                f"{seen.frame_pointer.rooted:.1%}",
                f"{seen.ours.rooted:.1%}",
                str(len(its)),
                str(sum(abs(comparison.deviation) > limit for comparison in its)),
                f"{_worst(its):.2f}",
                f"{seen.overlap:.0%}",
            )
    console.print(table)


def _show_outside(console: Console, outside: list[Comparison]) -> None:
    for one in sorted(outside, key=lambda comparison: -abs(comparison.deviation))[:_SHOWN]:
        console.print(
            f"outside: {one.program}, {one.measure} of {one.what.name} ({one.what.binary}): "
            f"perf {one.peer:.1%}, ours {one.ours:.1%}, {one.deviation:+.1f} σ",
            markup=False,
            soft_wrap=True,
        )


def _worst(comparisons: list[Comparison]) -> float:
    return max((abs(comparison.deviation) for comparison in comparisons), default=0.0)


def _report(
    windows: list[Window], comparisons: list[Comparison], outside: list[Comparison], limit: float
) -> Report:
    report = Report("agreement", peer="perf with itself (its two recordings)")
    seen = [one for window in windows for one in window.seen]
    itself = [comparison for window in windows for comparison in window.perf_with_itself]
    report.add("programs", len(seen))
    report.add("samples_perf", sum(window.perf_samples for window in windows))
    report.add("samples_ours", sum(window.our_samples for window in windows))
    report.add(
        "records_lost_ours", sum(window.our_lost for window in windows),
        peer=f"{sum(window.perf_lost for window in windows)} lost by perf",
    )  # fmt: skip
    report.add("family_error", FALSE_ALARM)
    report.add("allowed_standard_errors", limit)
    report.add("shares_compared", len(comparisons), peer=f"{len(itself)} self")
    for measure, key in (
        (SELF, "self"), (SELF_BY_FRAME_POINTER, "self_frame_pointer"), (TOTAL, "total"), (PRESENCE, "presence"),
    ):  # fmt: skip
        its = [comparison for comparison in comparisons if comparison.measure == measure]
        report.add(f"{key}_compared", len(its))
        report.add(f"{key}_outside", sum(comparison in outside for comparison in its), at_most(0))
    report.add(
        "worst_standard_errors", _worst(comparisons), at_most(limit), peer=f"{_worst(itself):.2f} self"
    )
    report.add(
        "rms_standard_errors",
        spread([comparison for comparison in comparisons if comparison.measure != TOTAL]),
        peer=f"{spread(itself):.2f} self",
    )
    report.add("programs_with_totals", sum(one.totals_comparable for one in seen))
    report.add("top10_overlap", sum(one.overlap for one in seen) / len(seen) if seen else 0.0)
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
