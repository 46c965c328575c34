"""`perf record` of the whole machine: its cost and its samples."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.cpu_time import run

if TYPE_CHECKING:
    from pathlib import Path

DWARF: Final = ("--call-graph", "dwarf,16384")
FRAME_POINTERS: Final = ("-g",)
_FIRST_TO_LAST: Final = re.compile(r"sample duration\s*:\s*([\d.]+) ms")
_COUNTED: Final = re.compile(r"^\s*(SAMPLE|LOST|LOST_SAMPLES) events:\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recording: CPU time of perf and its children, and the content of the file."""

    cpu_s: float
    peak_rss_mib: float
    samples: int
    lost: int
    rate_hz: float
    """Samples per second and CPU, between the first and the last."""


def record(path: Path, event: str, seconds: float, rate_hz: float, how: tuple[str, ...]) -> Recorded:
    """Record every CPU into a file, as in manual use. Raises CalledProcessError."""
    finished = run(_command(str(path), event, seconds, rate_hz, how))
    counted = [(name, int(count)) for name, count in _COUNTED.findall(_report(path, "--stats"))]
    samples = max(count for name, count in counted if name == "SAMPLE")
    header = _report(path, "--header-only")
    lasted = _FIRST_TO_LAST.search(header)
    cpus = re.search(r"nrcpus online : (\d+)", header)
    if lasted is None or cpus is None:
        raise ValueError("perf report printed no sample duration")
    # A span of n samples on one CPU contains n - 1 periods.
    rate = (samples - int(cpus[1])) / (float(lasted[1]) / 1000) / int(cpus[1])
    lost = sum(count for name, count in counted if name != "SAMPLE")
    return Recorded(finished.cpu_s, finished.peak_rss_mib, samples, lost, rate)


def discard(event: str, seconds: float, rate_hz: float, how: tuple[str, ...]) -> float:
    """Record to /dev/null, without the final pass over build ids: the minimal CPU seconds of perf."""
    return run(_command("/dev/null", event, seconds, rate_hz, ("--no-buildid", *how))).cpu_s


def version() -> str:
    """Version of perf."""
    output = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=True).stdout
    return output.split()[-1]


def _command(path: str, event: str, seconds: float, rate_hz: float, how: tuple[str, ...]) -> list[str]:
    which = ["--all-cpus", "--event", event, "--freq", f"{rate_hz:g}", *how]
    return ["perf", "record", "--quiet", *which, "--output", path, "--", "sleep", f"{seconds:g}"]


def _report(path: Path, what: str) -> str:
    return subprocess.run(
        ["perf", "report", what, "--input", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
