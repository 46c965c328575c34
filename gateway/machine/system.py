"""System parameters that are taken together with a profile (DIGEST G7), over the same window.

What there is to read is found once, when the gateway's server starts, and again when CPUs come or go: a machine
without cpufreq and cpuidle, as most virtual ones are, costs a dozen reads a capture however many CPUs it has.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.frequency import Bounds, Frequencies, find_frequencies
from gateway.machine.idle import IdleStates, find_idle_states, stays
from gateway.machine.kernel import LoadedModules
from gateway.machine.kernel_files import read_text
from gateway.machine.memory import meminfo, swap_used
from gateway.machine.pressure import Stall, read_pressure, stalled_us
from gateway.machine.topology import PROC, SYS, Topology, online_cpus, online_file, read_topology
from gateway.machine.usage import Reading, read, usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet
    from pathlib import Path

_LOAD: Final = re.compile(r"([\d.]{1,12}) ([\d.]{1,12}) ([\d.]{1,12}) (\d{1,9})/(\d{1,9}) ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gauges:
    """What can be read of this machine while the same CPUs run; `online` is the kernel's list of them."""

    online: str
    topology: Topology
    frequencies: Frequencies
    idle: IdleStates


def find_gauges(flags: str = "", *, proc: Path = PROC, sys: Path = SYS) -> Gauges:
    """Look what there is; `flags` are the CPU's by /proc/cpuinfo."""
    online = read_text(online_file(sys))
    cpus = online_cpus(sys)
    return Gauges(
        online, read_topology(cpus, sys), find_frequencies(flags, proc, sys), find_idle_states(cpus, sys)
    )


class Instruments:
    """Reads the gauges of one machine for any number of captures, also at the same time."""

    def __init__(self, flags: str = "", *, proc: Path = PROC, sys: Path = SYS) -> None:
        """Find the gauges; `flags` are the CPU's by /proc/cpuinfo."""
        self.proc: Final = proc
        self.sys: Final = sys
        self.modules: Final = LoadedModules(proc, sys)
        self._flags = flags
        self._gauges = find_gauges(flags, proc=proc, sys=sys)

    def gauges(self) -> Gauges:
        """The gauges of the CPUs that run now."""
        if read_text(online_file(self.sys)) != self._gauges.online:
            self._gauges = find_gauges(self._flags, proc=self.proc, sys=self.sys)
        return self._gauges

    def open_window(self) -> Window:
        """Take the first readings."""
        return Window(self)


class Window:
    """The machine over one window: opened by its first readings, closed once by the last."""

    def __init__(self, instruments: Instruments) -> None:
        """Read everything whose change over the window counts."""
        self._instruments = instruments
        self._gauges = instruments.gauges()
        self._mhz: defaultdict[int, list[float]] = defaultdict(list)
        self._memory = meminfo(instruments.proc)
        self._pressure = read_pressure(proc=instruments.proc)
        self._stays = self._gauges.idle.read()
        self.glance()
        self._usage = read(instruments.proc)
        self._began = time.monotonic()

    def glance(self) -> None:
        """Note the frequencies of now: the more often, the better the mean."""
        for cpu, megahertz in self._gauges.frequencies.read().items():
            self._mhz[cpu].append(megahertz)

    def close(self, capture: capture_pb2.Capture) -> float:
        """Put everything into the capture; the mean utilisation of the window, 0…1."""
        after = read(self._instruments.proc)
        window_ms = (time.monotonic() - self._began) * 1000
        gauges = self._instruments.gauges()
        if gauges is self._gauges:
            self.glance()
        else:
            capture.notes.append(
                f"logical CPUs went offline or came online during the capture: {_list(self._gauges)}, "
                f"then {_list(gauges)}"
            )
        gauges.topology.put(capture.machine)
        utilisation = after.utilisation_since(self._usage)
        bounds = gauges.frequencies.bounds()
        capture.cpus.extend(self._cpus(after, gauges, bounds, window_ms))
        capture.system.CopyFrom(self._system(utilisation, set(bounds.values())))
        return utilisation

    def _cpus(
        self, after: Reading, gauges: Gauges, bounds: Mapping[int, Bounds], window_ms: float
    ) -> list[capture_pb2.CpuUsage]:
        rows = usage(self._usage, after, gauges.topology.places)
        idle = stays(self._stays, gauges.idle.read(), window_ms) if gauges is self._gauges else {}
        for row in rows:
            if readings := self._mhz.get(row.cpu):
                row.mhz = sum(readings) / len(readings)
            if row.cpu in bounds:
                row.min_mhz, row.max_mhz = bounds[row.cpu].min_mhz, bounds[row.cpu].max_mhz
            row.idle_state_ms.extend(idle.get(row.cpu, ()))
        return rows

    def _system(self, utilisation: float, bounds: AbstractSet[Bounds]) -> capture_pb2.SystemState:
        proc = self._instruments.proc
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
            modules={module.name: module.build_id.hex() for module in self._instruments.modules.read()},
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


def _shares(pressure: Mapping[str, Mapping[str, Stall]], kind: str) -> dict[str, float]:
    return {name: stalls[kind].avg10 for name, stalls in pressure.items() if kind in stalls}


def _list(gauges: Gauges) -> str:
    return gauges.online.strip() or f"{len(gauges.topology.cpus)} of them"
