"""System metrics of a capture's window (DIGEST G7).

Sources are found once, when the gateway's server starts, and again when CPUs come or go: a machine without cpufreq and
cpuidle, as most virtual ones are, costs a dozen reads a capture, however many CPUs it has.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.cpu_usage import Reading, read, usage
from gateway.machine.frequency import Bounds, Frequencies, find_frequencies
from gateway.machine.idle_states import IdleStates, find_idle_states, residency
from gateway.machine.kernel_files import read_text
from gateway.machine.kernel_map import LoadedModules
from gateway.machine.meminfo import meminfo, swap_used
from gateway.machine.pressure import PressureStall, read_pressure, stalled_us
from gateway.machine.topology import PROC, SYS, Topology, online_cpus, online_file, read_topology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

_LOAD: Final = re.compile(r"([\d.]{1,12}) ([\d.]{1,12}) ([\d.]{1,12}) (\d{1,9})/(\d{1,9}) ", re.ASCII)


@dataclass(frozen=True, slots=True)
class MetricSources:
    """The readable sources of metrics while the same CPUs run; `online` is the kernel's list of them."""

    online: str
    topology: Topology
    frequencies: Frequencies
    idle: IdleStates


def find_sources(flags: str = "", *, proc: Path = PROC, sys: Path = SYS) -> MetricSources:
    """Find the sources; `flags` are the CPU's in /proc/cpuinfo."""
    online = read_text(online_file(sys))
    cpus = online_cpus(sys)
    return MetricSources(
        online, read_topology(cpus, sys), find_frequencies(flags, proc, sys), find_idle_states(cpus, sys)
    )


class MachineMetrics:
    """Reads the metrics of one machine for any number of captures, also concurrent ones."""

    def __init__(self, flags: str = "", *, proc: Path = PROC, sys: Path = SYS) -> None:
        """Find the sources; `flags` are the CPU's in /proc/cpuinfo."""
        self.proc: Final = proc
        self.sys: Final = sys
        self.modules: Final = LoadedModules(proc, sys)
        self._flags = flags
        self._sources = find_sources(flags, proc=proc, sys=sys)

    def sources(self) -> MetricSources:
        """The sources for the CPUs that are online now."""
        if read_text(online_file(self.sys)) != self._sources.online:
            self._sources = find_sources(self._flags, proc=self.proc, sys=self.sys)
        return self._sources

    def open_window(self) -> WindowMetrics:
        """Start a window with the first readings."""
        return WindowMetrics(self)


class WindowMetrics:
    """The machine's metrics over one window, from the first readings to the last; close it once."""

    def __init__(self, metrics: MachineMetrics) -> None:
        """Read everything that is reported as a difference."""
        self._metrics = metrics
        self._sources = metrics.sources()
        self._mhz: defaultdict[int, list[float]] = defaultdict(list)
        self._memory = meminfo(metrics.proc)
        self._pressure = read_pressure(proc=metrics.proc)
        self._idle_counters = self._sources.idle.read()
        self.sample_frequencies()
        self._usage = read(metrics.proc)
        self._began = time.monotonic()

    def sample_frequencies(self) -> None:
        """Read the current frequencies: the more often, the more precise the mean."""
        for cpu, megahertz in self._sources.frequencies.read().items():
            self._mhz[cpu].append(megahertz)

    def close(self, capture: capture_pb2.Capture) -> float:
        """Put all metrics into the capture; returns the mean utilisation of the window, 0…1."""
        after = read(self._metrics.proc)
        window_ms = (time.monotonic() - self._began) * 1000
        sources = self._metrics.sources()
        if sources is self._sources:
            self.sample_frequencies()
        else:
            capture.notes.append(
                f"logical CPUs went offline or came online during the capture: {_list(self._sources)}, "
                f"then {_list(sources)}"
            )
        sources.topology.put(capture.machine)
        utilisation = after.utilisation_since(self._usage)
        bounds = sources.frequencies.bounds()
        capture.cpus.extend(self._cpus(after, sources, bounds, window_ms))
        capture.system.CopyFrom(self._system(utilisation, set(bounds.values())))
        return utilisation

    def _cpus(
        self, after: Reading, sources: MetricSources, bounds: Mapping[int, Bounds], window_ms: float
    ) -> list[capture_pb2.CpuUsage]:
        rows = usage(self._usage, after, sources.topology.locations)
        idle = (
            residency(self._idle_counters, sources.idle.read(), window_ms) if sources is self._sources else {}
        )
        for row in rows:
            if readings := self._mhz.get(row.cpu):
                row.mhz = sum(readings) / len(readings)
            if row.cpu in bounds:
                row.min_mhz, row.max_mhz = bounds[row.cpu].min_mhz, bounds[row.cpu].max_mhz
            row.idle_state_ms.extend(idle.get(row.cpu, ()))
        return rows

    def _system(self, utilisation: float, bounds: AbstractSet[Bounds]) -> capture_pb2.SystemState:
        proc = self._metrics.proc
        pressure, memory = read_pressure(tuple(self._pressure), proc), meminfo(proc)
        state = capture_pb2.SystemState(
            utilisation=utilisation,
            pressure=_shares(pressure, "some"),
            pressure_full=_shares(pressure, "full"),
            stalled_us=stalled_us(self._pressure, pressure),
            memory_available_bytes=memory.get("MemAvailable", 0),
            memory_available_before_bytes=self._memory.get("MemAvailable", 0),
            swap_used_bytes=swap_used(memory),
            governor=",".join(sorted({each.governor for each in bounds if each.governor})),
            min_mhz=min((each.min_mhz for each in bounds if each.min_mhz), default=0.0),
            max_mhz=max((each.max_mhz for each in bounds), default=0.0),
            modules={module.name: module.build_id.hex() for module in self._metrics.modules.read()},
        )
        put_load(read_text(f"{proc}/loadavg"), state)
        return state


def put_load(text: str, state: capture_pb2.SystemState) -> None:
    """Set load and tasks from the text of /proc/loadavg; nothing if it is damaged."""
    match = _LOAD.match(text)
    if not match:
        return
    try:
        load = [float(value) for value in match.group(1, 2, 3)]
    except ValueError:
        return
    if all(map(math.isfinite, load)):
        state.load.extend(load)
        state.tasks_runnable, state.tasks = int(match[4]), int(match[5])


def _shares(pressure: Mapping[str, Mapping[str, PressureStall]], kind: str) -> dict[str, float]:
    return {name: stalls[kind].avg10 for name, stalls in pressure.items() if kind in stalls}


def _list(sources: MetricSources) -> str:
    return sources.online.strip() or f"{len(sources.topology.cpus)} of them"
