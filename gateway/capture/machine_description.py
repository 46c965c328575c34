"""The machine's description: the reply to Describe (DIGEST G1, G10)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.machine.kernel_files import read_line, read_number, read_text
from gateway.machine.kernel_map import read_kernel_build_id
from gateway.machine.meminfo import meminfo
from gateway.machine.topology import PROC, SYS
from gateway.machine.virtualization import container, hypervisor
from gateway.perf.event_availability import event_support

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gateway.machine.window_metrics import MetricSources

_OS_RELEASE: Final = ("/etc/os-release", "/usr/lib/os-release")
# Holds the first processor's fields: its longest line, the flags, has some 2 KiB.
_CPUINFO_BYTES: Final = 16 << 10
_SPEED: Final = re.compile(r"@ (\d{1,2}(?:\.\d{1,4})?)GHz$")
_FIGURE: Final = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)


def describe(
    sources: MetricSources, labels: Mapping[str, str], *, own: bool, proc: Path = PROC, sys: Path = SYS
) -> capture_pb2.Machine:
    """Read everything. `own`: probe events as an unprivileged user."""
    names = os.uname()
    fields = cpuinfo(proc)
    low, high = sources.frequencies.hardware
    machine = capture_pb2.Machine(
        hostname=names.nodename,
        platform=fields.get("model name", ""),
        architecture=names.machine,
        kernel_release=names.release,
        kernel_version=names.version,
        kernel_build_id=read_kernel_build_id(sys).hex(),
        boot_id=read_line(f"{proc}/sys/kernel/random/boot_id"),
        nominal_mhz=nominal_mhz(fields, sources, sys),
        hardware_min_mhz=low,
        hardware_max_mhz=high,
        frequency_driver=sources.frequencies.driver,
        memory_bytes=meminfo(proc).get("MemTotal", 0),
        microcode=fields.get("microcode", ""),
        virtualization=hypervisor(fields, proc, sys),
        container=container(proc),
        smt=read_line(f"{sys}/devices/system/cpu/smt/control"),
        idle_states=sources.idle.messages(),
        os=_os_name(),
        labels=dict(labels),
        events=event_support(own=own),
    )
    sources.topology.put(machine)
    return machine


def cpuinfo(proc: Path = PROC) -> dict[str, str]:
    """Fields of the first processor in /proc/cpuinfo; empty if unreadable."""
    fields: dict[str, str] = {}
    for line in read_text(f"{proc}/cpuinfo", _CPUINFO_BYTES).splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            break
        fields[name.strip()] = value.strip()
    return fields


def nominal_mhz(fields: Mapping[str, str], sources: MetricSources, sys: Path = SYS) -> float:
    """Base frequency of the first CPU in MHz; 0: unknown.

    Sources, in order: cpufreq or the firmware (CPPC), the model's name ("… @ 2.30GHz"), and the time stamp counter,
    which runs at the base frequency; bogomips are twice that.
    """
    first = sources.topology.cpus[0] if sources.topology.cpus else 0
    folder = f"{sys}/devices/system/cpu/cpu{first}"
    if (kilohertz := read_number(f"{folder}/cpufreq/base_frequency")) > 0:
        return kilohertz / 1000
    if (megahertz := read_number(f"{folder}/acpi_cppc/nominal_freq")) > 0:
        return float(megahertz)
    if speed := _SPEED.search(fields.get("model name", "")):
        return float(speed[1]) * 1000
    figure = fields.get("bogomips", "")
    return round(float(figure) / 2, 1) if _FIGURE.fullmatch(figure) else 0.0


def _os_name() -> str:
    for path in _OS_RELEASE:
        for line in read_text(path).splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip().strip("\"'")
    return ""
