"""Run every benchmark at its smallest size, one on each CPU, to check that each works.

    make bench-smallest                       # four minutes on two CPUs
    python -m benchmarks.smoke_run store lake

Prints a line for each when it ends, and its output if it failed. A benchmark that cannot run on this machine is skipped with the
reason. Writes nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Final

from benchmarks.size import SKIPPED, Size

NAMES: Final = (
    "store", "start", "overhead", "soak", "coverage", "symbolizer", "gateway", "unwind", "agreement", "ui", "lake",
    "models",
)  # fmt: skip
"""The longest first, so that the CPUs end together."""
_LONGEST_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Tried:
    """Result of one benchmark."""

    name: str
    seconds: float
    status: int
    """Exit status; negative if a signal ended it."""
    printed: str

    @property
    def failed(self) -> bool:
        """Whether it neither worked nor was skipped."""
        return self.status not in {0, SKIPPED}

    @property
    def line(self) -> str:
        """Line of the list."""
        last_line = self.printed.strip().rpartition("\n")[2]
        verdict = {0: "works", SKIPPED: last_line}.get(self.status, f"failed with {self.status}")
        return f"{self.name:12} {self.seconds:5.0f} s  {verdict}"


def attempt(name: str, module: str = "") -> Tried:
    """Run a benchmark in its own session; it is ended after five minutes."""
    environment = {key: value for key, value in os.environ.items() if key != "FULL"}
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", module or f"benchmarks.{name}"], env={**environment, "SIZE": Size.SMALLEST.value},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        printed, _ = process.communicate(timeout=_LONGEST_S)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends its own children
        printed, _ = process.communicate()
        printed += f"\nended after {_LONGEST_S:.0f} s"
    return Tried(name, time.monotonic() - began, process.returncode or 0, printed)


def main(arguments: list[str]) -> int:
    """Run them; 1 if any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.smoke_run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", nargs="*", choices=[[], *NAMES], help=f"of: {', '.join(NAMES)} (default: all)"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="at a time (default: one on each CPU)"
    )
    wanted = parser.parse_args(arguments)
    failed = False
    with ThreadPoolExecutor(wanted.jobs) as pool:
        for ended in as_completed([pool.submit(attempt, name) for name in wanted.name or NAMES]):
            tried = ended.result()
            print(tried.line, flush=True)
            if tried.failed:
                failed = True
                print(f"{tried.name} printed:\n{tried.printed}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
