"""Time of each logical CPU in each idle state (C-state), by cpuidle (Linux: admin-guide/pm/cpuidle).

The kernel adds the time of a stay when the CPU leaves the state, so a reading is exact to the length of one stay. While
`cpu` is sampled by cpu-clock, every CPU wakes at the sampling rate, and a stay is at most one period long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.kernel_files import names_in, read_line, read_number
from gateway.machine.topology import SYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_STATE: Final = re.compile(r"state(\d{1,2})$")
_UINT32_MAX: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class IdleStates:
    """The idle states of this machine's CPUs, shallowest first, and for each CPU the files with the time in each."""

    states: tuple[tuple[str, int], ...] = ()
    """Name, and exit latency in µs."""
    files: tuple[tuple[int, tuple[str, ...]], ...] = ()

    def read(self) -> dict[int, tuple[int, ...]]:
        """µs in each state since boot, by CPU; CPUs with an unreadable file are omitted."""
        found = {}
        for cpu, paths in self.files:
            times = tuple(map(read_number, paths))
            if min(times) >= 0:
                found[cpu] = times
        return found

    def messages(self) -> list[capture_pb2.IdleState]:
        """The states as wire messages."""
        return [
            capture_pb2.IdleState(name=name, exit_latency_us=min(latency, _UINT32_MAX))
            for name, latency in self.states
        ]


def find_idle_states(cpus: Iterable[int], sys: Path = SYS) -> IdleStates:
    """Find the idle states. CPUs whose number of states differs from the first CPU's are omitted."""
    states: tuple[tuple[str, int], ...] = ()
    numbers: list[int] = []
    files = []
    for cpu in cpus:
        folder = f"{sys}/devices/system/cpu/cpu{cpu}/cpuidle"
        mine = sorted(int(match[1]) for name in names_in(folder) if (match := _STATE.match(name)))
        if mine and not states:
            numbers = mine
            states = tuple(
                (read_line(f"{folder}/state{n}/name"), max(0, read_number(f"{folder}/state{n}/latency")))
                for n in numbers
            )
        if mine and mine == numbers:
            files.append((cpu, tuple(f"{folder}/state{n}/time" for n in numbers)))
        if not states:
            break  # cpuidle is the same on every CPU: if the first has none, no CPU has
    return IdleStates(states, tuple(files))


def residency(
    before: Mapping[int, tuple[int, ...]], after: Mapping[int, tuple[int, ...]], window_ms: float
) -> dict[int, list[int]]:
    """Ms in each state between two readings, by CPU.

    A stay that began before the window and ends within it counts in full; if the states' sum then exceeds the window,
    all are scaled down in proportion.
    """
    found = {}
    for cpu in before.keys() & after.keys():
        spent = [max(0, late - early) / 1000 for early, late in zip(before[cpu], after[cpu], strict=True)]
        excess = max(1.0, sum(spent) / window_ms) if window_ms > 0 else 1.0
        found[cpu] = [min(round(ms / excess), _UINT32_MAX) for ms in spent]
    return found
