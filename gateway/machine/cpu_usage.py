"""CPU time of every logical CPU, from /proc/stat (proc(5)).

The kernel counts in ticks of 1/100 s, so intervals below about 0.1 s are imprecise.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.topology import PROC, UNKNOWN_LOCATION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gateway.machine.topology import CpuLocation

# At least user, nice, system and idle; Linux 2.6 added the others.
_LINE: Final = re.compile(r"cpu(\d{1,5})((?: +\d{1,20}){4,})\s*$", re.ASCII)
_UINT32_MAX: Final = (1 << 32) - 1
_MIN_INTERVAL_S: Final = 0.2
_MAX_INTERVAL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks of one CPU since boot. Guest time is part of user, as in the kernel; softirq is part of irq."""

    user: int
    system: int
    idle: int
    iowait: int
    irq: int
    steal: int

    @property
    def total(self) -> int:
        """All ticks."""
        return self.user + self.system + self.idle + self.iowait + self.irq + self.steal

    def __sub__(self, earlier: CpuTimes) -> CpuTimes:
        """Ticks between two readings, never negative: the kernel's idle and iowait may decrease."""
        return CpuTimes(
            max(0, self.user - earlier.user),
            max(0, self.system - earlier.system),
            max(0, self.idle - earlier.idle),
            max(0, self.iowait - earlier.iowait),
            max(0, self.irq - earlier.irq),
            max(0, self.steal - earlier.steal),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """All CPUs at one time (CLOCK_MONOTONIC seconds)."""

    at: float
    cpus: Mapping[int, CpuTimes]

    def utilisation_since(self, earlier: Reading) -> float:
        """Mean busy share of all CPUs between two readings, 0…1. Stolen time is busy: a guest wanted it."""
        spent = [self.cpus[cpu] - earlier.cpus[cpu] for cpu in self.cpus.keys() & earlier.cpus.keys()]
        total = sum(times.total for times in spent)
        if not total:
            return 0.0
        idle = sum(times.idle + times.iowait for times in spent)
        return (total - idle) / total


def parse_stat(text: str) -> dict[int, CpuTimes]:
    """The `cpuN` lines of /proc/stat, without damaged ones."""
    cpus = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if not match:
            if not line.startswith("cpu"):
                break
            continue
        ticks = [int(field) for field in match[2].split()[:8]]
        ticks += [0] * (8 - len(ticks))
        user, nice, system, idle, iowait, irq, softirq, steal = ticks
        cpus[int(match[1])] = CpuTimes(user + nice, system, idle, iowait, irq + softirq, steal)
    return cpus


def read(proc: Path = PROC) -> Reading:
    """The current reading; without CPUs if the file is unreadable."""
    # After the CPUs comes one number per interrupt; on a large machine that is most of the file.
    lines = []
    try:
        with (proc / "stat").open(errors="replace") as file:
            for line in file:
                if not line.startswith("cpu"):
                    break
                lines.append(line)
    except OSError:
        lines.clear()
    return Reading(time.monotonic(), parse_stat("".join(lines)))


class UtilisationMeter:
    """Recent utilisation of the machine, measured only when queried."""

    def __init__(self, take: Callable[[], Reading] = read) -> None:
        self._take = take
        self._last = take()

    def recent(self) -> float:
        """Mean busy share since the previous call; over the next 0.2 s if that was more than a minute ago."""
        last, now = self._last, self._take()
        if now.at - last.at > _MAX_INTERVAL_S:
            last = now
        if now.at - last.at < _MIN_INTERVAL_S:
            time.sleep(_MIN_INTERVAL_S - (now.at - last.at))
            now = self._take()
        self._last = now
        return now.utilisation_since(last)


def usage(
    before: Reading, after: Reading, locations: Mapping[int, CpuLocation]
) -> list[capture_pb2.CpuUsage]:
    """Time of each CPU between two readings, with its location, ascending.

    CPUs that came or went meanwhile are omitted, and so are CPUs whose counters jumped by weeks.
    """
    tick_ms = 1000 / os.sysconf("SC_CLK_TCK")
    rows = []
    for cpu in sorted(before.cpus.keys() & after.cpus.keys()):
        spent = after.cpus[cpu] - before.cpus[cpu]
        place = locations.get(cpu, UNKNOWN_LOCATION)
        if spent.total * tick_ms > _UINT32_MAX:
            continue
        rows.append(
            capture_pb2.CpuUsage(
                cpu=cpu,
                core=place.core,
                package=place.package,
                numa_node=place.numa_node,
                user_ms=round(spent.user * tick_ms),
                system_ms=round(spent.system * tick_ms),
                idle_ms=round(spent.idle * tick_ms),
                iowait_ms=round(spent.iowait * tick_ms),
                irq_ms=round(spent.irq * tick_ms),
                steal_ms=round(spent.steal * tick_ms),
            )
        )
    return rows
