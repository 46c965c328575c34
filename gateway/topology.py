"""Which logical CPUs there are, where each sits, and how fast it runs now."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
SYS: Final = Path("/sys")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a logical CPU sits; −1: not known."""

    core: int = -1
    package: int = -1
    numa_node: int = -1


NOWHERE: Final = Place()


def online_cpus(sys: Path = SYS) -> list[int]:
    """Numbers of the logical CPUs that run, ascending."""
    try:
        return parse_cpu_list((sys / "devices/system/cpu/online").read_text())
    except OSError:
        return sorted(os.sched_getaffinity(0))


def parse_cpu_list(text: str) -> list[int]:
    """The kernel's list form, e.g. "0-2,5"."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def topology(cpus: list[int], sys: Path = SYS) -> dict[int, Place]:
    """Core, package and NUMA node of each CPU."""
    places = {}
    for cpu in cpus:
        folder = sys / f"devices/system/cpu/cpu{cpu}"
        nodes = [int(entry.name[4:]) for entry in folder.glob("node[0-9]*")]
        places[cpu] = Place(
            read_number(folder / "topology/core_id"),
            read_number(folder / "topology/physical_package_id"),
            nodes[0] if nodes else -1,
        )
    return places


def frequencies(cpus: list[int], proc: Path = PROC, sys: Path = SYS) -> dict[int, float]:
    """Present MHz of each CPU by cpufreq, else by /proc/cpuinfo; none where neither says."""
    found = {}
    for cpu in cpus:
        kilohertz = read_number(sys / f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")
        if kilohertz > 0:
            found[cpu] = kilohertz / 1000
    if found:
        return found
    cpu = -1
    try:
        text = (proc / "cpuinfo").read_text()
    except OSError:
        return {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            cpu = int(value)
        elif name.strip() == "cpu MHz" and cpu >= 0:
            found[cpu] = float(value)
    return found


def read_number(path: Path) -> int:
    """The number a file of /proc or /sys holds; −1: none, or not readable."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return -1
