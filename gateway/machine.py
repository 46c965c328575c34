"""What this machine is: the answer to Describe, read once (DIGEST G1, G10)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.kernel import read_kernel_build_id
from gateway.perf.events import EVENTS, probe, support_of
from gateway.topology import PROC, SYS, online_cpus, read_number, topology

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MAX_OS_RELEASE_BYTES: Final = 64 << 10


def describe(
    labels: Mapping[str, str], *, own: bool, proc: Path = PROC, sys: Path = SYS
) -> capture_pb2.Machine:
    """Read everything. `own`: events are probed as an unprivileged user may open them."""
    names = os.uname()
    cpus = online_cpus(sys)
    places = topology(cpus, sys)
    cores = {(place.package, place.core) for place in places.values() if place.core >= 0}
    packages = {place.package for place in places.values() if place.package >= 0}
    nodes = {place.numa_node for place in places.values() if place.numa_node >= 0}
    cpuinfo = _cpuinfo(proc)
    return capture_pb2.Machine(
        hostname=names.nodename,
        platform=cpuinfo.get("model name", ""),
        architecture=names.machine,
        kernel_release=names.release,
        kernel_version=names.version,
        kernel_build_id=read_kernel_build_id(sys).hex(),
        boot_id=_line(proc / "sys/kernel/random/boot_id"),
        logical_cpus=len(cpus),
        cores=len(cores),
        packages=len(packages),
        threads_per_core=len(cpus) // len(cores) if cores else 0,
        nominal_mhz=_nominal_mhz(cpuinfo, sys),
        memory_bytes=meminfo(proc).get("MemTotal", 0),
        numa_nodes=len(nodes),
        microcode=cpuinfo.get("microcode", ""),
        virtualization=_virtualization(cpuinfo, sys),
        os=_os_name(),
        labels=dict(labels),
        events=event_support(own=own),
    )


def event_support(*, own: bool) -> list[capture_pb2.EventSupport]:
    """Try to open each event of the catalogue."""
    verdicts = []
    for event in EVENTS.values():
        code = probe(event, own=own)
        verdicts.append(
            capture_pb2.EventSupport(
                event=event.name,
                support=support_of(code),
                errno=code,
                source="" if code else event.source,
            )
        )
    return verdicts


def meminfo(proc: Path = PROC) -> dict[str, int]:
    """/proc/meminfo in bytes."""
    sizes = {}
    try:
        text = (proc / "meminfo").read_text()
    except OSError:
        return {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        value, _, unit = rest.strip().partition(" ")
        if value.isdigit():
            sizes[name] = int(value) * (1024 if unit == "kB" else 1)
    return sizes


def _cpuinfo(proc: Path) -> dict[str, str]:
    """Fields of the first processor."""
    fields: dict[str, str] = {}
    try:
        with (proc / "cpuinfo").open() as file:
            for line in file:
                name, colon, value = line.partition(":")
                if not colon:
                    break
                fields[name.strip()] = value.strip()
    except OSError:
        return {}
    return fields


def _nominal_mhz(cpuinfo: Mapping[str, str], sys: Path) -> float:
    """Base frequency: by cpufreq, by the model's name ("… @ 2.30GHz"), or the TSC's, which runs at it."""
    base = read_number(sys / "devices/system/cpu/cpu0/cpufreq/base_frequency")
    if base > 0:
        return base / 1000
    _, at, speed = cpuinfo.get("model name", "").rpartition("@ ")
    if at and speed.endswith("GHz"):
        return float(speed.removesuffix("GHz")) * 1000
    try:
        return round(float(cpuinfo["bogomips"]) / 2, 1)
    except (KeyError, ValueError):
        return 0.0


def _virtualization(cpuinfo: Mapping[str, str], sys: Path) -> str:
    if "hypervisor" not in cpuinfo.get("flags", "").split():
        return "none" if cpuinfo else ""
    return _line(sys / "hypervisor/type") or _line(sys / "class/dmi/id/sys_vendor")


def _os_name() -> str:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - two fixed paths
                text = file.read(_MAX_OS_RELEASE_BYTES)
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip().strip("\"'")
    return ""


def _line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
