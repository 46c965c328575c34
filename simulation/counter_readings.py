"""Counters and per-CPU times of a simulated window, consistent with its utilisation."""

from collections.abc import Collection, Sequence

import numpy as np

from fleetpb import capture_pb2
from gateway.capture.limits import Schedule
from gateway.perf.uncore import READ, TRANSFERRED, WRITTEN
from gateway.perf.window_counters import OF_CGROUPS, STANDING, TASK_CLOCK
from simulation.capture_assembly import Assembly
from simulation.fleet import Fleet
from simulation.machine_facts import has_counters
from simulation.platforms import PLATFORMS
from simulation.rates import HARDWARE
from simulation.seeded_random import Floats, Indexes
from simulation.window import Window

_WHOLE_MACHINE = -1
_GROUPS_READ = 8
"""Least number of control groups counted, even if the plan requests none: a new fleet has CPI by application."""
_SOFTWARE = frozenset({"page-faults", "context-switches", "cpu-migrations"})
_ON_EVERY_THREAD = "cycles-any"
_OF_CORES = frozenset({_ON_EVERY_THREAD, "cycles-distributed"})
_ENOENT = 2
_SYSTEM_SHARE = 0.22


def add_counters(
    assembly: Assembly,
    schedule: Schedule,
    random: np.random.Generator,
    *,
    window: Window,
    sampled: Collection[int],
    physical: bool,
) -> None:
    """Add the window's counters, as gateways do: of the machine, of sockets and of control groups.

    `sampled` are the numbers of the process groups with samples; only their control groups are counted. A machine that
    is not `physical` has no hardware counters.
    """
    can = _SOFTWARE | HARDWARE | {PLATFORMS[window.platform].core_cycles} if physical else _SOFTWARE
    drawn = _Drawn(window, schedule.seconds, random)
    asked = [name for name in schedule.counter_events if not any(name in names for names in STANDING)]
    for names in (*STANDING, *((name,) for name in asked)):
        _add_standing(assembly, drawn, [name for name in names if name in can], names)
    _add_memory(assembly, drawn, physical=physical)
    counted = [name for name in OF_CGROUPS if name in can]
    for number in _most_run(window, sampled, max(schedule.counted_cgroups, _GROUPS_READ)):
        reading = _reading(assembly, drawn, cgroup=assembly.text(window.groups[number].identity.cgroup))
        for name in counted:
            _add(assembly, reading, name, int(drawn.of(name)[number]))
        clock = round(float(window.cores[number]) * schedule.seconds * 1e9)
        _add(assembly, reading, TASK_CLOCK.name, clock, unit=TASK_CLOCK.unit)


class _Drawn:
    """Units of each event by process group: drawn once, so that a part never exceeds the whole."""

    def __init__(self, window: Window, seconds: float, random: np.random.Generator) -> None:
        self.window = window
        self.seconds = seconds
        self._random = random
        self._counts: dict[str, Indexes] = {}
        self._nominal_mhz = PLATFORMS[window.platform].nominal_mhz

    def whole(self, name: str) -> int:
        """Units of the event on the machine, summed over all CPUs."""
        if name not in _OF_CORES:
            return int(self.of(name).sum())
        # A core's cycles in overlap count for both of its threads.
        together = self.window.overlap / self.window.busy if self.window.busy else 0.0
        cycles = int(self.of("cycles").sum()) * (1.0 - together / 2.0)
        return round(cycles * (self.window.layout.threads if name == _ON_EVERY_THREAD else 1))

    def of(self, name: str) -> Indexes:
        """Units of the event, by group."""
        if name == "ref-cycles":
            return np.asarray(self.of("cycles") * (self._nominal_mhz / self.window.mhz), np.int64)
        if name not in self._counts:
            expected: Floats = self.window.cores * self.seconds * self.window.rates(name)
            self._counts[name] = self._random.poisson(expected)
        return self._counts[name]


def _add_standing(assembly: Assembly, drawn: _Drawn, counted: Sequence[str], names: Sequence[str]) -> None:
    if not counted:
        failed = assembly.capture.counters.add(cpu=_WHOLE_MACHINE)
        for name in names:
            failed.counters.add(
                name=assembly.text(name), support=capture_pb2.SUPPORT_UNSUPPORTED, errno=_ENOENT
            )
        return
    whole = _reading(assembly, drawn)
    for name in counted:
        _add(assembly, whole, name, drawn.whole(name))


def _add_memory(assembly: Assembly, drawn: _Drawn, *, physical: bool) -> None:
    """Bytes to and from memory by socket: AMD's data fabric counts both together, Intel's controllers separately."""
    platform = PLATFORMS[drawn.window.platform]
    if not physical:
        _add_standing(assembly, drawn, (), (TRANSFERRED,))
        return
    together = platform.name.startswith("AMD")
    for package in range(platform.packages):
        reading = _reading(assembly, drawn, package=package + 1)
        each = [int(drawn.of(name).sum()) // platform.packages for name in (READ, WRITTEN)]
        for name, value in (
            [(TRANSFERRED, sum(each))] if together else zip((READ, WRITTEN), each, strict=True)
        ):
            _add(assembly, reading, name, value, unit="bytes")


def _most_run(window: Window, sampled: Collection[int], most: int) -> list[int]:
    """The groups with the most CPU time, of those in a control group."""
    having = [number for number in sampled if window.groups[number].identity.cgroup]
    return sorted(having, key=lambda number: -window.cores[number])[:most]


def _reading(
    assembly: Assembly, drawn: _Drawn, *, package: int = 0, cgroup: int = 0
) -> capture_pb2.CounterGroup:
    enabled = round(drawn.seconds * 1e9)
    return assembly.capture.counters.add(
        cpu=_WHOLE_MACHINE, package=package, cgroup=cgroup, time_enabled_ns=enabled, time_running_ns=enabled
    )


def add_usage(
    assembly: Assembly,
    seconds: float,
    random: np.random.Generator,
    *,
    fleet: Fleet,
    machine: int,
    window: Window,
) -> None:
    """Add the time of every logical CPU, uneven but with the window's mean, and the state of the system."""
    cpus, platform = int(fleet.cpus[machine]), PLATFORMS[fleet.platform[machine]]
    cores, busy = window.layout.cores, window.busy
    # Which core gets which share is random. Threads of a core are alike, since a scheduler fills cores first.
    shares = window.layout.shares(busy)[:, random.permutation(cores)].ravel()
    window_ms = seconds * 1000.0
    mhz = float(fleet.mhz[machine])
    for cpu, share in enumerate(shares.tolist()):
        core = cpu % cores
        package = core * platform.packages // cores
        used = share * window_ms
        assembly.capture.cpus.add(
            cpu=cpu, core=core, package=package, numa_node=package,
            user_ms=round(used * (1.0 - _SYSTEM_SHARE)), system_ms=round(used * _SYSTEM_SHARE),
            idle_ms=round(window_ms - used), mhz=round(mhz, 1) if has_counters(fleet, machine) else 0.0,
        )  # fmt: skip
    state = assembly.capture.system
    state.utilisation = busy
    state.load.extend([round(cpus * busy, 2)] * 3)
    state.memory_available_bytes = int((1.0 - 0.6 * busy) * (cpus << 32))
    if has_counters(fleet, machine):
        state.governor = "powersave" if fleet.is_slowed[machine] else "schedutil"
        state.min_mhz, state.max_mhz = 800.0, round(platform.nominal_mhz * 1.4, 1)


def _add(
    assembly: Assembly, reading: capture_pb2.CounterGroup, name: str, value: int, *, unit: str = ""
) -> None:
    reading.counters.add(
        name=assembly.text(name), support=capture_pb2.SUPPORT_OK, value=value, unit=assembly.text(unit)
    )
