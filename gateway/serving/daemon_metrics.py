"""Metrics of the daemon: its server part, its connections, CPU time and memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

Metric = tuple[str, str, float]
"""Type (counter, gauge), help text, value."""
_PREFIX: Final = "fleetprof_gateway"


@dataclass(frozen=True, slots=True)
class DaemonState:
    """The state to report. `server` is the server part's pid, 0 if none runs."""

    server: int
    is_ready: bool
    is_up: bool
    starts: int
    deaths: int
    connections: int


def daemon_metrics(state: DaemonState) -> dict[str, Metric]:
    """Metrics of this process and its server part, by name."""
    own = os.times()
    cpu = own.user + own.system + own.children_user + own.children_system
    memory = resident_bytes(os.getpid())
    if state.server:
        cpu += cpu_seconds(state.server)
        memory += resident_bytes(state.server)
    return {
        f"{_PREFIX}_ready": ("gauge", "1 unless the server part died or failed to start.", state.is_ready),
        f"{_PREFIX}_server_running": (
            "gauge",
            "1 while the server part runs; it ends when idle.",
            state.is_up,
        ),
        f"{_PREFIX}_server_starts_total": ("counter", "Starts of the server part.", state.starts),
        f"{_PREFIX}_server_deaths_total": (
            "counter",
            "Deaths and failed starts of the server part.",
            state.deaths,
        ),
        f"{_PREFIX}_callers": ("gauge", "Connections open now.", state.connections),
        f"{_PREFIX}_cpu_seconds_total": ("counter", "CPU time of both parts, captures included.", cpu),
        f"{_PREFIX}_resident_bytes": (
            "gauge",
            "Resident memory of both parts; shared memory is counted twice.",
            memory,
        ),
    }


def render_metrics(values: Mapping[str, Metric]) -> str:
    """Prometheus' text of single numbers; `values` maps a name to (type, help text, value)."""
    lines = []
    for name, (kind, text, value) in values.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value:.17g}"]
    return "\n".join(lines) + "\n"


def cpu_seconds(pid: int) -> float:
    """CPU time of a process in seconds; 0 if it has ended (proc(5): fields 14 and 15 of stat, after the name)."""
    try:
        with Path(f"/proc/{pid}/stat").open("rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 if it has ended."""
    try:
        with Path(f"/proc/{pid}/statm").open("rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
