"""Counters and per-CPU times of a simulated window, in accord with its utilisation."""

from collections.abc import Mapping

import numpy as np

from fleetpb import capture_pb2
from gateway.perf.window_counters import STANDING
from services.simulate.assembly import Assembly
from services.simulate.draws import Floats
from services.simulate.fleet import Fleet
from services.simulate.machine_facts import has_counters
from services.simulate.platforms import PLATFORMS

_WHOLE_MACHINE = -1
_GROUPS_READ = 8
"""Process groups whose cycles and instructions are read apart: those that take most."""
_ENOENT = 2
_SYSTEM_SHARE = 0.22
_UNEVENNESS = 0.8


def add_counters(
    assembly: Assembly,
    seconds: float,
    random: np.random.Generator,
    *,
    cores: Floats,
    rates: Mapping[str, Floats],
    listed: Mapping[int, int],
) -> None:
    """Add what was counted over the window.

    `cores` has the CPUs that each process group of the machine kept busy, `rates` the units of each event that a
    core-second of each brings, `listed` the index in the capture of those that are in it.
    """
    capture = assembly.capture
    core_seconds = cores * seconds
    enabled = round(seconds * 1e9)
    largest = sorted(listed, key=lambda number: -core_seconds[number])[:_GROUPS_READ]
    for names in STANDING:
        counted = [name for name in names if name in rates]
        if not counted:
            failed = capture.counters.add(cpu=_WHOLE_MACHINE)
            for name in names:
                failed.counters.add(
                    name=assembly.text(name), support=capture_pb2.SUPPORT_UNSUPPORTED, errno=_ENOENT
                )
            continue
        each = {name: random.poisson(core_seconds * rates[name]) for name in counted}
        whole = capture.counters.add(cpu=_WHOLE_MACHINE, time_enabled_ns=enabled, time_running_ns=enabled)
        for name in counted:
            _add(assembly, whole, name, int(each[name].sum()))
        if "cycles" in names:
            for number in largest:
                reading = capture.counters.add(
                    cpu=_WHOLE_MACHINE,
                    group=listed[number] + 1,
                    time_enabled_ns=enabled,
                    time_running_ns=enabled,
                )
                for name in counted:
                    _add(assembly, reading, name, int(each[name][number]))


def add_usage(
    assembly: Assembly,
    seconds: float,
    random: np.random.Generator,
    *,
    fleet: Fleet,
    machine: int,
    busy: float,
) -> None:
    """Add the time of every logical CPU, uneven but with the mean `busy`, and the state of the system."""
    cpus, platform = int(fleet.cpus[machine]), PLATFORMS[fleet.platform[machine]]
    cores = cpus // 2
    # Threads of one core are alike: a scheduler fills cores before it doubles up.
    spread = np.exp(
        _UNEVENNESS * np.tile(random.standard_normal(cores), 2) + 0.3 * random.standard_normal(cpus)
    )
    shares = _with_mean(spread, busy)
    window_ms = seconds * 1000.0
    mhz = platform.nominal_mhz * (1.35 - 0.25 * busy)
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
        state.governor = "schedutil"
        state.min_mhz, state.max_mhz = 800.0, round(platform.nominal_mhz * 1.4, 1)


def _add(assembly: Assembly, reading: capture_pb2.CounterGroup, name: str, value: int) -> None:
    reading.counters.add(name=assembly.text(name), support=capture_pb2.SUPPORT_OK, value=value)


def _with_mean(spread: Floats, mean: float) -> Floats:
    """Shares 0…1 in proportion to `spread` as far as possible, with this mean."""
    low, high = 0.0, 1.0
    while np.minimum(spread * high, 1.0).mean() < mean * (1.0 - 1e-9) and high < 1e9:
        high *= 2.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if np.minimum(spread * middle, 1.0).mean() < mean else (low, middle)
    return np.minimum(spread * high, 1.0)
