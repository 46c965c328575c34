"""Time until `fleetprof up` is ready, and the idle cost of all its processes.

    make bench-start          # two minutes; FULL=1: also from a clone; SIZE=smallest: half a minute

`up` starts in an empty state directory, including PostgreSQL's cluster and tables. Idle means that the campaign is
stopped and all captures are ingested. Memory is the proportional set size of all processes (/proc/PID/smaps_rollup), so
shared pages count once. Bytecode is compiled by a first start that is not measured, as after an installation.

This machine's packages contain neither Parca nor Pyroscope; the peer's column has only figures that this run measured.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.report import Report, at_most
from benchmarks.size import Size, chosen, skip
from benchmarks.start.run import Idle, Started, up
from services.deployment.preflight import judge, read_facts

_IDLE_S: Final = {Size.SMALLEST: 5.0, Size.DEFAULT: 60.0, Size.FULL: 60.0}
_TERMINATED: Final = 128 + signal.SIGTERM
_ROOT: Final = Path(__file__).parents[2]


def report(started: Started, idle: Idle, clone_to_table_s: float | None) -> Report:
    """The figures with their bars."""
    found = Report("start", peer="not run here: no binary of Parca or Pyroscope")
    found.add("up_ready_s", started.api_ready_s, at_most(5.0), peer="the API answers /readyz with 200")
    found.add("up_all_ready_s", started.all_ready_s, peer="gateway, worker and collector, too")
    found.add("up_start_cpu_s", started.all_ready_cpu_s, peer="of all processes until then")
    found.add("up_first_table_s", started.first_table_s, peer="with one round of 10 s and a window of 8 s")
    found.add("up_idle_mib", sum(idle.pss_mib.values()), at_most(300.0), peer=_parts(idle))
    found.add("up_idle_cpu_ms_per_s", idle.cpu_ms_per_s, at_most(5.0))
    if clone_to_table_s is not None:
        found.add("clone_to_table_s", clone_to_table_s, peer="git clone, make setup, up, first table")
    return found


def _parts(idle: Idle) -> str:
    largest = sorted(idle.pss_mib.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {size:.0f}" for name, size in largest)


def _from_clone() -> float:
    """Seconds from `git clone` of this repository to the first table."""
    with tempfile.TemporaryDirectory(prefix="bench-clone-", dir="/tmp") as folder:
        clone = Path(folder) / "fleetprof"
        began = time.monotonic()
        subprocess.run(["git", "clone", "--quiet", _ROOT, clone], check=True)
        subprocess.run(["make", "--silent", "setup"], cwd=clone, check=True, stdout=subprocess.DEVNULL)
        with up([str(clone / ".venv/bin/fleetprof"), "up"]) as running:
            running.started()
            return time.monotonic() - began


def main() -> int:
    """Measure, print the table, and write the results; 1 if a bar is missed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    size = chosen()
    if problem := judge(read_facts()).problem:
        skip(problem)
    if size is not Size.SMALLEST:
        with up() as first:
            first.started()
    with up() as measured:
        started = measured.started()
        idle = measured.idle(_IDLE_S[size])
    found = report(started, idle, _from_clone() if size is Size.FULL else None)
    found.show(Console())
    print(found.written())
    return found.status


if __name__ == "__main__":
    sys.exit(main())
