"""Record real programs and compare the unwinding of the same samples by the gateway and by `perf script`.

    python -m benchmarks.unwind [--seconds 6] [--rate 199] [program …]
    SIZE=smallest python -m benchmarks.unwind   # two programs for a second: does it work?

benchmarks/unwind_agreement.py, which compares a single recording, defines the columns. *Longer* are stacks that begin
with perf's stack, whose further callers all follow a CALL, and whose walk ends at the thread's start; *cut short* are
such stacks that end at the end of the copied stack. Exit 1 if a stack is wrong, or longer in perf.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from benchmarks.perf_record import version
from benchmarks.report import Report, at_least, exactly
from benchmarks.size import Size, chosen, skip
from benchmarks.unwind.programs import RECIPES, NotHere, Program, prepare
from benchmarks.unwind_agreement import Agreement, compare

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS: Final = (
    "identical",
    "longer",
    "longer_cut_short",
    "longer_incomplete",
    "unmapped",
    "perf_longer",
    "perf_skipped",
    "perf_wrong",
    "wrong",
)
_WARM_UP_S: Final = 2.0
_TRIES: Final = 3
_ENOUGH: Final = 200
_SMALLEST: Final = ("gzip", "perl")
_LOG_WIDTH: Final = 150


def main(arguments: list[str]) -> int:
    """Run it; 0 if no stack is wrong, 2 if perf cannot be used."""
    smallest = chosen() is Size.SMALLEST
    if shutil.which("perf") is None:
        skip("perf, which it compares with, is not installed (Debian: linux-perf)")
    parser = argparse.ArgumentParser(prog="benchmarks.unwind")
    parser.add_argument(
        "--seconds", type=float, default=1.0 if smallest else 6.0, help="of each recording (default: 6)"
    )
    parser.add_argument("--rate", type=int, default=199, help="samples per second and CPU (default: 199)")
    parser.add_argument("program", nargs="*", help=f"of: {', '.join(RECIPES)} (default: all)")
    wanted = parser.parse_args(arguments)
    if unknown := set(wanted.program) - RECIPES.keys():
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    found: dict[str, tuple[Program, Agreement]] = {}
    for name in wanted.program or (_SMALLEST if smallest else RECIPES):
        with tempfile.TemporaryDirectory(prefix="fp-unwind-") as folder:
            try:
                program = prepare(Path(folder), name)
                found[name] = program, _agreement(program, Path(folder), wanted.seconds, wanted.rate)
            except NotHere as reason:
                console.print(f"left out: {name}: {reason}")
            except subprocess.CalledProcessError as error:
                console.print(f"unwind: {name}: {error}\n{error.stderr!s}", style="red", markup=False)
                return 2
            else:
                _show_examples(console, found[name][1])
    report = _report(found)
    _show(console, found)
    report.show(console)
    if not wanted.program:
        console.print(report.written())
    return report.status


def _agreement(program: Program, folder: Path, seconds: float, rate: int) -> Agreement:
    """Record the program until there are enough stacks, at most three times as long; compare while it runs."""
    process = subprocess.Popen(
        program.command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        time.sleep(_WARM_UP_S)
        for _ in range(_TRIES):
            found = _record(process.pid, folder / "perf.data", seconds, rate)
            if found.stacks >= _ENOUGH:
                break
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)  # left behind by CPython
    return found


def _record(group: int, path: Path, seconds: float, rate: int) -> Agreement:
    """Record the machine, and compare the samples of the process group and its future children.

    perf's -p would miss existing children and those that shells start by vfork.
    """
    what = ("-e", "cpu-clock", "-F", str(rate), "--call-graph", "dwarf,16384", "-m", "8M", "-o", str(path))
    command = ["perf", "record", "-q", "-a", *what, "--", "sleep", f"{seconds:g}"]
    members = set(_members(group))
    subprocess.run(command, check=True, capture_output=True, text=True)
    return compare(path, pids=members | set(_members(group)), with_children=True)


def _members(group: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getpgid(int(entry.name)) == group:
                    yield int(entry.name)
            except ProcessLookupError:
                continue


def _show(console: Console, found: dict[str, tuple[Program, Agreement]]) -> None:
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("program", no_wrap=True)
    for heading in (
        "stacks",
        "identical",
        "longer",
        "cut short",
        "not to the end",
        "unmapped",
        "perf longer",
        "perf skipped",
        "perf wrong",
        "wrong",
        "further callers",
        "unchecked",
        "complete",
    ):
        table.add_column(heading, justify="right")
    table.add_column("")
    for program, agreement in found.values():
        table.add_row(
            program.name,
            str(agreement.stacks),
            *(str(getattr(agreement, column)) for column in _COLUMNS),
            str(agreement.extra_callers),
            str(agreement.extra_callers_unchecked),
            f"{_complete(agreement):.1%}",
            program.about,
        )
    console.print(table)


def _show_examples(console: Console, agreement: Agreement) -> None:
    for example in agreement.examples:
        console.print(f"  {example}", markup=False, soft_wrap=True)


def _complete(agreement: Agreement) -> float:
    return agreement.ends["STACK_END_COMPLETE"] / max(1, agreement.ends.total())


def _report(found: dict[str, tuple[Program, Agreement]]) -> Report:
    report = Report("unwind", peer=f"perf {version()}")
    all_of = [agreement for _, agreement in found.values()]

    def total(name: str) -> int:
        return sum(getattr(agreement, name) for agreement in all_of)

    report.add("programs", len(found), at_least(8))
    report.add("stacks", total("stacks"))
    for column in _COLUMNS:
        report.add(column, total(column), exactly(0) if column in {"wrong", "perf_longer"} else None)
    report.add("extra_callers", total("extra_callers"))
    report.add("extra_callers_unchecked", total("extra_callers_unchecked"))
    good = sum(
        total(name) for name in ("identical", "longer", "longer_cut_short", "perf_skipped", "perf_wrong")
    )
    report.add("agrees_or_knows_more", good / max(1, total("stacks")), at_least(0.99))
    ends = sum(agreement.ends.total() for agreement in all_of)
    report.add("complete", sum(agreement.ends["STACK_END_COMPLETE"] for agreement in all_of) / max(1, ends))
    for name, (_, agreement) in found.items():
        counted = ", ".join(
            f"{column} {getattr(agreement, column)}" for column in _COLUMNS if getattr(agreement, column)
        )
        report.note(
            f"program_{name}", f"{agreement.stacks} stacks: {counted}; complete {_complete(agreement):.1%}"
        )
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
