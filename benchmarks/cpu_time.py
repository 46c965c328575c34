"""CPU time of other processes in nanoseconds, including their children.

/proc/PID/stat counts in ticks of 10 ms, more than an idle daemon uses in a minute. /proc/PID/schedstat omits all
threads but the first. The kernel's clock of a process (named by clock_getcpuclockid(3)) has neither fault.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CPUCLOCK_SCHED: Final = 2
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
# cutime and cstime, counted from the field after the closing parenthesis of the name.
_REAPED_FIELDS: Final = slice(13, 15)


def process_cpu_s(pid: int) -> float:
    """User and system time of all threads, including ended ones. Raises ProcessLookupError once it is reaped."""
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def tree_cpu_s(root: int) -> float:
    """CPU time of a process and all its descendants; reaped children count in ticks."""
    total = 0.0
    for pid in descendants(root):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            total += process_cpu_s(pid) + _reaped_s(pid)
    return total


def descendants(root: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield root
    with contextlib.suppress(FileNotFoundError):
        for thread in Path(f"/proc/{root}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from descendants(int(child))


def _reaped_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[_REAPED_FIELDS])) / _TICKS_PER_S


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended: CPU time including its children, and stderr."""

    cpu_s: float
    peak_rss_mib: float
    stderr: str


def run(command: Sequence[str]) -> Finished:
    """Run a program to its end. Raises CalledProcessError."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        stderr = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=stderr)
    return Finished(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, stderr)
