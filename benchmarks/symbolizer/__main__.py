"""Symbolization beside llvm-symbolizer and addr2line in the same run.

    make bench-symbolizer        # under five minutes once the inputs are there; FULL=1: more addresses
    python -m benchmarks.symbolizer [--only big,cpp] [--examples]
    SIZE=smallest python -m benchmarks.symbolizer   # the C++ program, a few addresses: does it work?

Inputs (`inputs.py`) are downloaded and compiled once into $XDG_CACHE_HOME/fleetprof-bench. Addresses are random within
the ranges of unwind entries. Rates are per CPU second of one core: for the product, chains of many addresses in one
call; for llvm-symbolizer, the marginal cost of addresses once it has read the file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.report import Report
from benchmarks.size import Size, chosen, skip
from benchmarks.symbolizer import inputs, peers
from benchmarks.symbolizer.engine import CannotBuild
from benchmarks.symbolizer.run import Run

_LOG_WIDTH = 170
_STEPS = 5


def main(arguments: list[str]) -> int:
    """Run it; 0 if every bar is met."""
    parser = argparse.ArgumentParser(prog="benchmarks.symbolizer")
    parser.add_argument("--only", default="", help="inputs, separated by commas: big, cpp, rust, go, vmlinux")
    parser.add_argument("--examples", action="store_true", help="print one address for each class of miss")
    wanted = parser.parse_args(arguments)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    only = set(filter(None, wanted.only.split(",")))
    if chosen() is Size.SMALLEST:
        only = {"cpp"}
    report = Report("symbolizer", peer="beside it")
    run = measure(report, console, only)
    report.show(console)
    if wanted.examples:
        for name, found in run.examples.items():
            for kind, (address, reference, ours) in found.examples.items():
                console.print(f"{name} {address:#x} {kind}:\n  llvm {reference}\n  ours {ours}", markup=False)
    if only:
        console.print("not written: only some inputs were measured")
    else:
        console.print(report.written())
    return report.status


def measure(report: Report, console: Console, only: set[str]) -> Run:
    """Measure every available input."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("preparing", total=None)

        def step(what: str) -> None:
            progress.update(task, description=what, advance=1)

        binaries, missing = inputs.prepare(step, only)
        for name, why in missing.items():
            console.print(f"left out: {name}: {why}", markup=False)
        if not binaries:
            skip(f"no input can be made here: {'; '.join(missing.values())}")
        report.note("left_out", ", ".join(missing))
        if peers.llvm_symbolizer() is None:
            console.print(
                "left out: all comparisons: llvm-symbolizer is not installed (apt-get install llvm-19)"
            )
        place = inputs.folder() / "run"
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            run = Run(report, Path(scratch), step, size=chosen())
            for binary in binaries:
                try:
                    run.binary(binary)
                except CannotBuild as error:
                    console.print(f"left out: {binary.name}: {error}", markup=False)
                shutil.rmtree(Path(scratch) / binary.name, ignore_errors=True)
            run.finish()
    return run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
