"""The machine's state during a visit: a row for each logical CPU, and one for the system parameters.

The wire format has 0 and "" for unknown values. Here these are NULL, so that no mean includes them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from fleetpb import capture_pb2
from storage.ingest.process_labels import clean
from storage.ingest.table_rows import TableRows, VisitFacts
from storage.schema import capture_cpu, capture_system

_INT2_MAX = (1 << 15) - 1
_INT4_MAX = (1 << 31) - 1
_INT8_MAX = (1 << 63) - 1
_MOST_STATES = 32
"""Maximum number of stored idle states of a CPU; the kernel has at most 10 (CPUIDLE_STATE_MAX)."""


def cpu_rows(visit: VisitFacts, capture: capture_pb2.Capture) -> TableRows:
    """One row per logical CPU. Threads of one core have the same `core_cpu`."""
    rows = TableRows(
        capture_cpu,
        ("visit_id", "cpu", "day", "core", "package", "numa_node", "core_cpu", "user_ms", "system_ms", "idle_ms",
         "iowait_ms", "irq_ms", "steal_ms", "mhz", "min_mhz", "max_mhz", "idle_state_ms"),
    )  # fmt: skip
    first_of_core = _first_of_core(capture)
    names = _distinct(state.name for state in capture.machine.idle_states)
    for usage in capture.cpus:
        place = [n if n >= 0 else None for n in (usage.core, usage.package, usage.numa_node)]
        core_cpu = first_of_core.get(usage.cpu, usage.cpu if usage.core >= 0 else _INT4_MAX + 1)
        times = (
            usage.user_ms, usage.system_ms, usage.idle_ms, usage.iowait_ms, usage.irq_ms, usage.steal_ms,
        )  # fmt: skip
        rows.add(
            visit.visit_id, usage.cpu, visit.day, *place, core_cpu if core_cpu <= _INT4_MAX else None,
            *(min(ms, _INT4_MAX) for ms in times), _known(usage.mhz), _known(usage.min_mhz),
            _known(usage.max_mhz), _by_name(names, usage.idle_state_ms),
        )  # fmt: skip
    return rows


def system_rows(visit: VisitFacts, capture: capture_pb2.Capture) -> TableRows:
    """One row; none for a capture without a system state."""
    rows = TableRows(capture_system, tuple(column.name for column in capture_system.c))
    if not capture.HasField("system"):
        return rows
    machine, system = capture.machine, capture.system
    load = [value if math.isfinite(value) and value >= 0 else None for value in system.load[:3]]
    load += [None] * (3 - len(load))
    names = _distinct(state.name for state in machine.idle_states)
    latencies = [state.exit_latency_us for state in machine.idle_states]
    sized = system.memory_available_bytes > 0
    values = {
        "visit_id": visit.visit_id,
        "day": visit.day,
        "seconds": _known(capture.window.duration_ns / 1e9),
        # A machine whose CPUs could not be read has no utilisation; an idle one has 0.
        "utilisation": min(1.0, max(0.0, system.utilisation)) if capture.cpus else None,
        "load_1": load[0],
        "load_5": load[1],
        "load_15": load[2],
        "tasks": _int4(system.tasks),
        "tasks_runnable": min(system.tasks_runnable, _INT4_MAX) if system.tasks else None,
        "pressure": _pressure(system) or None,
        "stalled_us": _texts(system.stalled_us) or None,
        "memory_bytes": _int8(machine.memory_bytes),
        "memory_available_bytes": _int8(system.memory_available_bytes),
        "memory_available_before_bytes": _int8(system.memory_available_before_bytes),
        "swap_used_bytes": min(system.swap_used_bytes, _INT8_MAX) if sized else None,
        "governor": clean(system.governor) or None,
        "frequency_driver": clean(machine.frequency_driver) or None,
        "nominal_mhz": _known(machine.nominal_mhz),
        "min_mhz": _known(system.min_mhz),
        "max_mhz": _known(system.max_mhz),
        "hardware_min_mhz": _known(machine.hardware_min_mhz),
        "hardware_max_mhz": _known(machine.hardware_max_mhz),
        "logical_cpus": _int4(machine.logical_cpus),
        "cores": _int4(machine.cores),
        "packages": _int4(machine.packages),
        "threads_per_core": min(machine.threads_per_core, _INT2_MAX) or None,
        "numa_nodes": _int4(machine.numa_nodes),
        "smt": clean(machine.smt) or None,
        "idle_states": _by_name(names, latencies),
        "microcode": clean(machine.microcode) or None,
        "kernel_release": clean(machine.kernel_release) or None,
        "virtualization": clean(machine.virtualization) or None,
        "boot_id": clean(machine.boot_id) or None,
        "gateway": clean(capture.producer) or None,
    }
    rows.add(*(values[name] for name in rows.columns))
    return rows


def _first_of_core(capture: capture_pb2.Capture) -> dict[int, int]:
    """The lowest CPU of each core with several threads, by CPU.

    Core numbers restart in every package, and in some kernels in every die, so the kernel's list of siblings is used.
    Core numbers are used only without such a list, if cores have several threads.
    """
    first: dict[int, int] = {}
    for siblings in capture.machine.siblings:
        if siblings.cpus:
            first |= dict.fromkeys(siblings.cpus, min(siblings.cpus))
    if not first and capture.machine.threads_per_core > 1:
        lowest: dict[tuple[int, int], int] = {}
        for usage in sorted(capture.cpus, key=lambda usage: usage.cpu):
            if usage.core >= 0:
                first[usage.cpu] = lowest.setdefault((usage.package, usage.core), usage.cpu)
    return first


def _pressure(system: capture_pb2.SystemState) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {}
    for kind, found in (("some", system.pressure), ("full", system.pressure_full)):
        for resource, share in sorted(found.items()):
            if math.isfinite(share):
                shares.setdefault(clean(resource), {})[kind] = share
    return shares


def _texts(values: Mapping[str, int]) -> dict[str, int]:
    return {clean(name): value for name, value in sorted(values.items())}


def _distinct(names: Iterable[str]) -> list[str]:
    """The names as unique keys: a driver may give two states the same name."""
    seen: dict[str, int] = {}
    distinct = []
    for name in map(clean, names):
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return distinct


def _by_name(names: Sequence[str], values: Sequence[int]) -> dict[str, int] | None:
    """Values by name; None unless every state has a value."""
    if not names or len(names) != len(values) or len(names) > _MOST_STATES:
        return None
    return dict(zip(names, values, strict=True))


def _known(value: float) -> float | None:
    """A frequency or a length; None if it is 0 or invalid."""
    return value if math.isfinite(value) and value > 0 else None


def _int4(value: int) -> int | None:
    return min(value, _INT4_MAX) or None


def _int8(value: int) -> int | None:
    return min(value, _INT8_MAX) or None
