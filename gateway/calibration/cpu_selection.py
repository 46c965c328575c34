"""Selects the CPUs to load: an idle core with two threads, an idle CPU, the idle cores of its socket."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from gateway.calibration import refusals
from gateway.machine.kernel_files import names_in, read_number, read_text
from gateway.machine.topology import SYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from gateway.machine.cpu_usage import Reading
    from gateway.machine.topology import Topology

MOST_READERS: Final = 16
"""Limit of cores that read memory at the same time; fewer saturate a socket's bandwidth."""
_THREADS: Final = 2
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20}


def busy_shares(before: Reading, after: Reading) -> dict[int, float]:
    """Busy share of each CPU between two readings, 0…1; a CPU without a tick counts as idle."""
    shares = {}
    for cpu in before.cpus.keys() & after.cpus.keys():
        spent = after.cpus[cpu] - before.cpus[cpu]
        shares[cpu] = 1 - (spent.idle + spent.iowait) / spent.total if spent.total else 0.0
    return shares


def usable_cpus(topology: Topology) -> frozenset[int]:
    """The online CPUs on which this process may run."""
    return frozenset(topology.cpus) & os.sched_getaffinity(0)


def idle_core(
    topology: Topology, usable: frozenset[int], busy: Mapping[int, float], quiet: float
) -> tuple[int, int]:
    """The two threads of the least busy core; raises CalibrationRefused NO_SIBLINGS, BUSY."""
    cores = [cpus for cpus in topology.siblings if len(cpus) == _THREADS and usable.issuperset(cpus)]
    if not cores:
        raise refusals.no_siblings(
            "no core of this machine has two visible threads that the gateway may use, so an overlap "
            "coefficient cannot be measured here. Use a machine of this platform with SMT on, or "
            "without a hypervisor that hides SMT"
        )
    share, *chosen = min((max(busy.get(cpu, 0.0) for cpu in cpus), *cpus) for cpus in cores)
    if share > quiet:
        raise refusals.busy(
            f"a thread of even the least busy core was busy for {share:.0%} of the time; up to {quiet:.0%} is allowed. "
            "Retry when the machine is idle"
        )
    return int(chosen[0]), int(chosen[1])


def idle_cpu(usable: Iterable[int], busy: Mapping[int, float], quiet: float) -> int:
    """The least busy CPU; raises CalibrationRefused BUSY."""
    share, chosen = min((busy.get(cpu, 0.0), cpu) for cpu in usable)
    if share > quiet:
        raise refusals.busy(
            f"even the least busy CPU was busy for {share:.0%} of the time; up to {quiet:.0%} is allowed. "
            "Retry when the machine is idle"
        )
    return chosen


def readers(
    topology: Topology,
    usable: frozenset[int],
    cpu: int,
    busy: Mapping[int, float],
    quiet: float,
    *,
    sys: Path = SYS,
) -> dict[int, float]:
    """One CPU of each idle core of this CPU's socket, at most 16 spread over it, with its start: a share of the memory.

    CPUs with a common last-level cache start far from each other, so that none finds what another has just read.
    """
    locations = topology.locations
    package = locations[cpu].package if cpu in locations else -1
    idle = [
        cpus
        for cpus in topology.siblings
        if cpu in cpus
        or max(busy.get(each, 0.0) for each in cpus) <= quiet  # a busy sibling takes part of its core's reads
    ]
    firsts = [min(cpus, key=lambda each: (each != cpu, each)) for cpus in idle] or [cpu]
    of_socket = sorted(
        first
        for first in {*firsts, cpu}
        if first in usable and (first == cpu or _package(topology, first) == package)
    )
    step = -(-len(of_socket) // MOST_READERS)
    chosen = of_socket[::step]
    sharing: dict[str, list[int]] = {}
    for each in chosen:
        folder = _last_cache(each, sys)
        sharing.setdefault(read_text(f"{folder}/shared_cpu_list").strip() if folder else "", []).append(each)
    return {each: at / len(group) for group in sharing.values() for at, each in enumerate(group)}


def nodes_of_package(topology: Topology, cpu: int) -> frozenset[int]:
    """Known NUMA nodes of the CPU's socket."""
    package = _package(topology, cpu)
    return frozenset(
        place.numa_node
        for place in topology.locations.values()
        if place.package == package and place.numa_node >= 0
    )


def last_cache_bytes(cpu: int, sys: Path = SYS) -> int:
    """Size of the CPU's last-level cache; 0: unknown."""
    folder = _last_cache(cpu, sys)
    match = re.fullmatch(r"([0-9]{1,9})([KM]?)", read_text(f"{folder}/size").strip()) if folder else None
    return int(match[1]) * _UNITS[match[2]] if match else 0


def _package(topology: Topology, cpu: int) -> int:
    place = topology.locations.get(cpu)
    return -1 if place is None else place.package


def _last_cache(cpu: int, sys: Path) -> str:
    folder = f"{sys}/devices/system/cpu/cpu{cpu}/cache"
    levels = [
        (read_number(f"{folder}/{name}/level"), name) for name in names_in(folder) if name.startswith("index")
    ]
    return f"{folder}/{max(levels)[1]}" if levels and max(levels)[0] > 0 else ""
