"""`perf record` of the whole machine, and its samples from `perf script`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

MOST_FRAMES: Final = 1024
_ANSWER_S: Final = 30.0
_HEAD: Final = re.compile(r"^\s*(.+?)\s+(-?\d+)/(-?\d+)\s+(\d+)\.(\d{9}):\s*$")
_FRAME: Final = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


class PerfUnusable(Exception):
    """perf cannot record here; the sentence gives the reason."""


class Frame(NamedTuple):
    """An address as perf prints it: offset in the file (the address without a file), symbol, file."""

    ip: int
    symbol: str
    dso: str


class Sample(NamedTuple):
    """One sample; `frames` leaf first."""

    comm: str
    pid: int
    time: int
    frames: tuple[Frame, ...]


@contextmanager
def recording(path: Path, rate_hz: int, *how: str) -> Iterator[None]:
    """Record every CPU's timer, by CLOCK_MONOTONIC, during the block. Raises PerfUnusable."""
    control, acknowledged = os.pipe(), os.pipe()
    command = [
        "perf", "record", "--all-cpus", "--event", "cpu-clock", "--freq", str(rate_hz), "--clockid", "mono",
        "--mmap-pages", "16M", "--delay", "-1", "--control", f"fd:{control[0]},{acknowledged[1]}",
        "--output", str(path), *how,
    ]  # fmt: skip
    process = subprocess.Popen(
        command,
        pass_fds=(control[0], acknowledged[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(control[0])
    os.close(acknowledged[1])
    # perf writes the file's header on an interrupt, but not if its control pipe is closed first.
    with os.fdopen(control[1], "w") as say, os.fdopen(acknowledged[0]) as answers:
        try:
            try:
                print("enable", file=say, flush=True)
                heard = answers.readline()
            except BrokenPipeError:
                heard = ""
            if not heard:
                output = process.communicate(timeout=_ANSWER_S)[1].strip()
                raise PerfUnusable(f"perf record does not work here: {output[-500:]}")
            yield
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate()


def samples(path: Path, *, comms: Collection[str], between: Sequence[tuple[int, int]]) -> list[Sample]:
    """The samples of processes with these names in any of these spans of CLOCK_MONOTONIC."""
    command = [
        "perf", "script", "--input", str(path), "--ns", "--no-inline", "--comms", ",".join(comms),
        "--fields", "comm,pid,tid,time,ip,sym,dso", "--max-stack", str(MOST_FRAMES),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        found = [
            sample
            for sample in _parsed(process.stdout)
            if any(start <= sample.time < end for start, end in between)
        ]
    if process.returncode:
        raise PerfUnusable(f"perf script ended with {process.returncode}")
    return found


def running(path: Path, *, between: Sequence[tuple[int, int]]) -> Counter[str]:
    """Number of samples in these spans by the running process's name, without the idle task."""
    command = ["perf", "script", "--input", str(path), "--ns", "--fields", "comm,pid,tid,time"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in text.splitlines():
        comm, pid, time = _head(line)
        if pid and any(start <= time < end for start, end in between):
            found[comm] += 1
    return found


def lost(path: Path) -> int:
    """Records that perf could not write."""
    text = subprocess.run(
        ["perf", "report", "--stats", "--input", str(path)], capture_output=True, text=True, check=True
    ).stdout
    counted = Counter({name: int(value) for name, value in re.findall(r"(LOST\w*) events:\s+(\d+)", text)})
    return counted.total()


def _parsed(lines: Iterator[str]) -> Iterator[Sample]:
    head: tuple[str, int, int] | None = None
    frames: list[Frame] = []
    for line in lines:
        if not line.strip():
            if head is not None:
                yield Sample(*head, tuple(frames))
            head, frames = None, []
        elif head is None:
            head = _head(line)
        else:
            found = _FRAME.match(line.rstrip("\n"))
            if found is None:
                raise PerfUnusable(f"perf script printed {line!r}")
            frames.append(Frame(int(found[1], 16), found[2], found[3]))
    if head is not None:
        yield Sample(*head, tuple(frames))


def _head(line: str) -> tuple[str, int, int]:
    found = _HEAD.match(line)
    if found is None:
        raise PerfUnusable(f"perf script printed {line!r}")
    comm, pid, _, seconds, nanoseconds = found.groups()
    return comm, int(pid), int(seconds) * 10**9 + int(nanoseconds)
