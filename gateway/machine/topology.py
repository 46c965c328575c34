"""The logical CPUs and their locations: core, package, NUMA node (sysfs-devices-system-cpu)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.kernel_files import read_number, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROC: Final = Path("/proc")
SYS: Final = Path("/sys")

MAX_CPUS: Final = 1 << 16
"""More logical CPUs than any kernel supports (NR_CPUS is at most 8192): a larger number is invalid."""


@dataclass(frozen=True, slots=True)
class CpuLocation:
    """Location of a logical CPU; −1: unknown."""

    core: int = -1
    package: int = -1
    numa_node: int = -1


UNKNOWN_LOCATION: Final = CpuLocation()


@dataclass(frozen=True, slots=True)
class Topology:
    """All online CPUs. `siblings` are the online threads of each core; cores with unknown threads are omitted."""

    cpus: tuple[int, ...]
    locations: Mapping[int, CpuLocation] = field(default_factory=dict)
    siblings: tuple[tuple[int, ...], ...] = ()
    nodes: Mapping[int, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    """For each NUMA node its online CPUs and its bytes of memory; 0: unknown."""

    def put(self, machine: capture_pb2.Machine) -> None:
        """Set the CPU fields of a machine's description."""
        for name in ("nodes", "siblings"):
            machine.ClearField(name)
        machine.logical_cpus = len(self.cpus)
        machine.cores = len(self.siblings)
        machine.packages = len({place.package for place in self.locations.values() if place.package >= 0})
        machine.threads_per_core = max(map(len, self.siblings), default=0)
        machine.numa_nodes = len(self.nodes)
        machine.siblings.extend(capture_pb2.Siblings(cpus=cpus) for cpus in self.siblings if len(cpus) > 1)
        machine.nodes.extend(
            capture_pb2.NumaNode(node=node, cpus=cpus, memory_bytes=memory)
            for node, (cpus, memory) in sorted(self.nodes.items())
        )


def online_cpus(sys: Path = SYS) -> list[int]:
    """Numbers of the online logical CPUs, ascending; if unknown, those this process may run on."""
    return parse_cpu_list(read_text(online_file(sys))) or sorted(os.sched_getaffinity(0))


def online_file(sys: Path) -> str:
    """The file with the list of online CPUs; its text changes when one comes or goes."""
    return f"{sys}/devices/system/cpu/online"


def parse_cpu_list(text: str) -> list[int]:
    """Parse the kernel's list form, e.g. "0-2,5", or with spaces; ascending. Empty if invalid."""
    cpus: set[int] = set()
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            return []
        start, end = int(first), int(last or first)
        if not start <= end < MAX_CPUS:
            return []
        cpus.update(range(start, end + 1))
    return sorted(cpus)


def read_topology(cpus: Iterable[int], sys: Path = SYS) -> Topology:
    """The location of each CPU. Reads three files a core and one a node, none a thread."""
    online = sorted(set(cpus))
    wanted = set(online)
    nodes: dict[int, tuple[tuple[int, ...], int]] = {}
    node_of: dict[int, int] = {}
    for node in parse_cpu_list(read_text(f"{sys}/devices/system/node/online")):
        folder = f"{sys}/devices/system/node/node{node}"
        local = tuple(cpu for cpu in parse_cpu_list(read_text(f"{folder}/cpulist")) if cpu in wanted)
        nodes[node] = (local, _node_memory(read_text(f"{folder}/meminfo")))
        node_of |= dict.fromkeys(local, node)
    locations: dict[int, CpuLocation] = {}
    siblings = []
    for cpu in online:
        if cpu in locations:
            continue
        folder = f"{sys}/devices/system/cpu/cpu{cpu}/topology"
        core, package = read_number(f"{folder}/core_id"), read_number(f"{folder}/physical_package_id")
        threads = _threads(cpu, folder, wanted - locations.keys())
        if threads:
            siblings.append(threads)
        for thread in threads or (cpu,):
            locations[thread] = CpuLocation(core, package, node_of.get(thread, -1))
    return Topology(tuple(online), locations, tuple(siblings), nodes)


def _threads(cpu: int, folder: str, free: set[int]) -> tuple[int, ...]:
    """Online threads of the CPU's core, including itself; empty: unknown."""
    # core_cpus_list since Linux 5.3; before it thread_siblings_list, with the same meaning.
    text = read_text(f"{folder}/core_cpus_list") or read_text(f"{folder}/thread_siblings_list")
    threads = parse_cpu_list(text)
    return tuple(thread for thread in threads if thread in free) if cpu in threads else ()


def _node_memory(text: str) -> int:
    """MemTotal of a node's meminfo, "Node 0 MemTotal: 65536 kB", in bytes; 0: unknown."""
    for line in text.splitlines():
        _, found, rest = line.partition("MemTotal:")
        if found:
            number = rest.split()[:1]
            return min(int(number[0]) << 10, (1 << 63) - 1) if number and _is_number(number[0]) else 0
    return 0


def _is_number(text: str) -> bool:
    """Whether it consists of decimal digits, and not more than the kernel's numbers have."""
    return text.isascii() and text.isdigit() and len(text) <= 20
