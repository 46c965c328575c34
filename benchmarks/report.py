"""Results of a benchmark: a table for users, `results/NAME.json` for programs."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.size import Size, chosen

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS: Final = Path(__file__).with_name("results")
# Minimum width of the peer's column, also in a narrow terminal.
_LEAST_WIDTH: Final = 24
_CPU_MODEL_FIELD: Final = "model name"

Value: TypeAlias = float | int | str


@dataclass(frozen=True, slots=True)
class Bar:
    """Target of a figure, as text and as a test."""

    text: str
    holds: Callable[[float], bool]


def at_most(limit: float) -> Bar:
    """Met by values up to the limit."""
    return Bar(f"≤ {limit:g}", lambda value: value <= limit)


def at_least(limit: float) -> Bar:
    """Met by values from the limit on."""
    return Bar(f"≥ {limit:g}", lambda value: value >= limit)


def exactly(wanted: float) -> Bar:
    """Met by one value."""
    return Bar(f"= {wanted:g}", lambda value: value == wanted)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `bar` None: no promise. `peer`: the peer's result."""

    key: str
    value: Value
    bar: Bar | None = None
    peer: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it meets its bar; None without one."""
        if self.bar is None:
            return None
        return not isinstance(self.value, str) and self.bar.holds(self.value)


class Report:
    """The figures of one benchmark, in the order in which they were added."""

    def __init__(self, name: str, *, peer: str) -> None:
        """`peer`: heading of the column with the other program's results."""
        self.name: Final = name
        self._peer = peer
        self._figures: list[Figure] = []
        self._notes: dict[str, Value] = {}

    def add(self, key: str, value: Value, bar: Bar | None = None, *, peer: str = "") -> None:
        """Add a figure; its key contains the unit. Floats keep four significant digits."""
        if isinstance(value, float):
            value = float(f"{value:.4g}")
        self._figures.append(Figure(key, value, bar, peer))

    def note(self, key: str, value: Value) -> None:
        """Store a fact about the measurement with the figures; it is not in the table."""
        self._notes[key] = value

    @property
    def missed(self) -> list[str]:
        """Keys of the figures that miss their bars."""
        return [figure.key for figure in self._figures if figure.met is False]

    def show(self, console: Console) -> None:
        """Print the table."""
        title = f"{self.name}: {_machine_line()}"
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        table.add_column("figure", no_wrap=True)
        table.add_column("value", justify="right", no_wrap=True)
        table.add_column("bar", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        table.add_column(self._peer, overflow="fold", min_width=_LEAST_WIDTH)
        for figure in self._figures:
            value = f"{figure.value:,}" if isinstance(figure.value, int) else str(figure.value)
            table.add_row(
                Text(figure.key, style="" if figure.bar else "dim"),
                Text(value),
                figure.bar.text if figure.bar else "",
                _verdict(figure.met),
                Text(figure.peer, style="dim"),
            )
        console.print(table)

    def written(self) -> str:
        """Write the figures, except at the smallest size; returns a sentence with the file."""
        if chosen() is Size.SMALLEST:
            return "not written: the smallest size tells only that it works"
        return f"written to {self.write()}"

    @property
    def status(self) -> int:
        """Exit status: 1 if a figure misses its bar, except at the smallest size."""
        return int(bool(self.missed) and chosen() is not Size.SMALLEST)

    def write(self, folder: Path | None = None) -> Path:
        """Write the figures and this machine's facts as one flat object; returns the file's path."""
        folder = folder or RESULTS
        figures = {figure.key: figure.value for figure in self._figures}
        content = {**figures, "bars_missed": ", ".join(self.missed), **self._notes, **machine_facts()}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return path


def machine_facts() -> dict[str, Value]:
    """Time and place of the measurement, with keys common to all benchmarks."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_model": _cpu_model(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "load_average": round(os.getloadavg()[0], 2),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        field, _, value = line.partition(":")
        if field.strip() == _CPU_MODEL_FIELD:
            return value.strip()
    return platform.machine()


def _machine_line() -> str:
    facts = machine_facts()
    return f"{facts['cpus']} × {facts['cpu_model']}, Linux {facts['kernel']}, Python {facts['python']}"


def _verdict(met: bool | None) -> Text:
    if met is None:
        return Text("")
    return Text("met", style="green") if met else Text("not met", style="bold red")
