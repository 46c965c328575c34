"""Frequency: time at the middle of three frequencies, predicted from the lowest and the highest, on third-party data.

The data are runs of cBench on an ODROID-XU3 (Cortex-A15), published by K. Nikov with ARMPM_BUILDMODEL under BSD-3. A
run is a folder whose name ends in the frequency in kHz; its `benchmarks.data` has a name, start and end in ns on each
line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.dvfs.frequency_model import naive
from analysis.dvfs.timed_runs import from_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = (
    "https://github.com/kranik/ARMPM_BUILDMODEL, folder Examples/Raw_Data/cBench (BSD-3-Clause): give the folder with"
    " --data DIR or FLEETPROF_BENCH_DATA=DIR"
)
_RUN = re.compile(r"^(?P<run>.*?)-?(?P<khz>\d{5,7})$")


@dataclass(frozen=True, slots=True)
class Found:
    """Relative errors at the held-out frequency, one per run and program."""

    model: np.ndarray
    naive: np.ndarray
    """Errors of scaling by 1/f from the lowest frequency."""
    again: np.ndarray
    """Errors of predicting a run by another run at the same frequency: the noise floor of any model."""
    programs: int
    runs: int


class NoData(Exception):
    """The given folder has no run of three frequencies."""


def measure(folder: Path | None) -> Found:
    """All runs below a folder; raises NoData, also without a folder."""
    if folder is None:
        raise NoData("No folder was given.")
    times = _times(folder)
    model, plain, held = [], [], defaultdict(list)
    for (run, program), by_hz in times.items():
        if len(by_hz) < 3:
            continue
        hertz = sorted(by_hz)
        low, middle, high = hertz[0], hertz[len(hertz) // 2], hertz[-1]
        fitted = from_runs([low, high], [by_hz[low], by_hz[high]])
        model.append(abs(fitted.time(middle).value / by_hz[middle] - 1))
        plain.append(abs(by_hz[low] / float(naive(middle, low)) / by_hz[middle] - 1))
        held[program].append((run, by_hz[middle]))
    if not model:
        raise NoData(f"No run of three frequencies below {folder}.")
    again = [
        abs(one / other - 1) for runs in held.values() for _, one in runs for _, other in runs if one != other
    ]
    return Found(np.array(model), np.array(plain), np.array(again), len(held), len({run for run, _ in times}))


def _times(folder: Path) -> dict[tuple[str, str], dict[float, float]]:
    """Seconds by frequency in Hz, for each run and program."""
    times: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
    for path in sorted(folder.rglob("benchmarks.data")):
        name = _RUN.match(path.parent.name)
        if name is None:
            continue
        run = str(path.parent.parent / name["run"])
        for program, seconds in _programs(path):
            times[run, program][1000.0 * int(name["khz"])] = seconds
    return times


def _programs(path: Path) -> Iterator[tuple[str, float]]:
    for line in path.read_text().splitlines():
        fields = line.split()
        if len(fields) == 3 and not line.startswith("#"):
            yield fields[0], (int(fields[2]) - int(fields[1])) / 1e9
