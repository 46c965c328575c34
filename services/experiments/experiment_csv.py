"""Strict parser of a CSV file of experiments: one fault rejects the whole file.

One row is one run of a target. A row with empty `beside` is a run alone: it measures the application's pressure on the
chip and, with a value, the baseline of the target's slowdown. Any other row is a mix.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from analysis.interference.experiments import Run
from services.experiments import csv_columns
from services.experiments.coherence import incoherences
from services.experiments.csv_columns import (
    BESIDE,
    COLUMNS,
    CORES,
    GIGABYTES,
    LINES,
    METRIC,
    OPTIONAL,
    PLATFORM,
    TARGET,
    VALUE,
    Wrong,
    shown,
)
from services.experiments.errors import Fault, UnusableExperiments
from storage.experiments import PlatformRun

LARGEST_BYTES: Final = 8 << 20
MOST_ROWS: Final = 50_000
MOST_PLATFORMS: Final = 64
_MOST_FAULTS: Final = 100
"""Limit for a file of another format, which has a fault in every line."""
_HEADING: Final = ",".join(COLUMNS)
_READERS: Final = {
    PLATFORM: csv_columns.name_of,
    TARGET: csv_columns.application_of,
    BESIDE: csv_columns.beside_of,
    METRIC: csv_columns.metric_of,
    **{column: csv_columns.number_of(column) for column in (VALUE, LINES, GIGABYTES, CORES)},
}


def read_experiments(content: bytes) -> tuple[PlatformRun, ...]:
    """The runs of a file. Raises UnusableExperiments with all faults found, up to a hundred."""
    if len(content) > LARGEST_BYTES:
        _refuse(f"the file has more than {LARGEST_BYTES >> 20} MiB", "split it into several sets")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse("the file is not UTF-8", "save the file as CSV in UTF-8", line=line)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    reading = _Reading()
    try:
        rows = ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))
        reading.read(rows)
    except csv.Error as error:
        _refuse(f"the file is not valid CSV ({error})", "close every quotation mark", line=reader.line_num)
    reading.faults += incoherences(reading.runs) if not reading.faults else []
    if reading.faults:
        raise UnusableExperiments(sorted(reading.faults, key=lambda fault: fault.line))
    return tuple(reading.runs)


@dataclass(slots=True)
class _Reading:
    runs: list[PlatformRun] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    platforms: set[str] = field(default_factory=set)

    def read(self, rows: Iterator[tuple[int, Sequence[str]]]) -> None:
        heading = _heading(next(rows, (1, ())))
        for count, (line, row) in enumerate(rows, 1):
            if count > MOST_ROWS:
                _refuse(f"the file has more than {MOST_ROWS:,} runs", "split it into several sets")
            if len(self.faults) >= _MOST_FAULTS:
                return
            if len(row) != len(heading):
                what = f"the line has {len(row)} fields, the heading has {len(heading)}"
                self.faults.append(Fault(line, "", what, "write one field per column, empty or not"))
                continue
            self._row(line, dict(zip(heading, (cell.strip() for cell in row), strict=True)))

    def _row(self, line: int, cells: dict[str, str]) -> None:
        found: dict[str, Any] = {CORES: None}
        before = len(self.faults)
        for column, cell in cells.items():
            try:
                found[column] = _READERS[column](cell)
            except Wrong as wrong:
                self.faults.append(Fault(line, column, wrong.what, wrong.instead))
        if len(self.faults) == before:
            self.faults += _misshapen(line, found)
        if len(self.faults) > before:
            return
        self.platforms.add(found[PLATFORM])
        if len(self.platforms) > MOST_PLATFORMS:
            instead = "write only CPU models in this column, or split the file into several sets"
            _refuse(f"the file has more than {MOST_PLATFORMS} platforms", instead, line=line, column=PLATFORM)
        cores = found[CORES] if found[BESIDE] or found[CORES] is not None else 1.0
        figures = (found[METRIC], found[VALUE], found[LINES], found[GIGABYTES], cores)
        self.runs.append(PlatformRun(line, found[PLATFORM], Run(found[TARGET], found[BESIDE], *figures)))


def _heading(first: tuple[int, Sequence[str]]) -> tuple[str, ...]:
    line, row = first
    names = tuple(cell.strip() for cell in row)
    if not names:
        _refuse("the file is empty", f"begin it with the heading {_HEADING}")
    if len(names) == 1 and any(other in names[0] for other in ";\t"):
        _refuse("the heading has no comma", "separate columns with commas", line=line)
    for name in names:
        if name not in COLUMNS:
            _refuse(f"{shown(name)} is not a column of experiments", f"the heading is {_HEADING}", line=line)
        if names.count(name) > 1:
            _refuse("the column appears twice", "keep one of the two", line=line, column=name)
    missing = [name for name in COLUMNS if name not in names and name not in OPTIONAL]
    if missing:
        _refuse(f"the heading lacks {', '.join(missing)}", f"the heading is {_HEADING}", line=line)
    return names


def _misshapen(line: int, found: dict[str, Any]) -> Iterator[Fault]:
    """Faults between the fields of one row."""
    if found[METRIC] is None and found[VALUE] is not None:
        yield Fault(line, METRIC, "the value has no metric", "write time, cpi or ipc")
    if found[METRIC] is not None and found[VALUE] is None:
        yield Fault(line, VALUE, "the metric has no value", "write it, or leave both empty in a run alone")
    if not found[BESIDE]:
        for column in (LINES, GIGABYTES):
            if found[column] is None:
                yield Fault(line, column, "a run alone needs it", "write it: pressures come from runs alone")
        return
    if found[METRIC] is None and found[VALUE] is None:
        yield Fault(line, VALUE, "a run beside others needs it", "write the target's time, CPI or IPC")
    for column in (LINES, GIGABYTES, CORES):
        if found[column] is not None:
            what = "a run beside others must not have it: pressures come from runs alone"
            yield Fault(line, column, what, "leave it empty here, and write it in the target's run alone")


def _refuse(what: str, instead: str, *, line: int = 0, column: str = "") -> NoReturn:
    raise UnusableExperiments([Fault(line, column, what, instead)])
