"""System parameters that are taken together with a profile (DIGEST G7): load, pressure, memory, frequency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.kernel import read_modules
from gateway.machine import meminfo
from gateway.topology import PROC, SYS, read_number

if TYPE_CHECKING:
    from pathlib import Path

_RESOURCES: Final = ("cpu", "memory", "io")


def read_state(utilisation: float, *, proc: Path = PROC, sys: Path = SYS) -> capture_pb2.SystemState:
    """The state now; `utilisation` is the window's mean, 0…1."""
    policy = sys / "devices/system/cpu/cpu0/cpufreq"
    pressure = {
        name: share for name in _RESOURCES if (share := _pressure(proc / "pressure" / name)) is not None
    }
    return capture_pb2.SystemState(
        utilisation=utilisation,
        load=_load(proc),
        pressure=pressure,
        memory_available_bytes=meminfo(proc).get("MemAvailable", 0),
        governor=_governor(policy),
        min_mhz=max(0, read_number(policy / "scaling_min_freq")) / 1000,
        max_mhz=max(0, read_number(policy / "scaling_max_freq")) / 1000,
        modules={module.name: module.build_id.hex() for module in read_modules(sys)},
    )


def parse_pressure(text: str) -> float | None:
    """`avg10` of the "some" line of a PSI file, percent; None: there is no such line."""
    for line in text.splitlines():
        kind, *fields = line.split()
        if kind == "some":
            for field in fields:
                name, _, value = field.partition("=")
                if name == "avg10":
                    return float(value)
    return None


def _pressure(path: Path) -> float | None:
    try:
        return parse_pressure(path.read_text())
    except (OSError, ValueError):
        return None  # no PSI in this kernel, or switched off by psi=0


def _load(proc: Path) -> list[float]:
    try:
        return [float(value) for value in (proc / "loadavg").read_text().split()[:3]]
    except (OSError, ValueError):
        return []


def _governor(policy: Path) -> str:
    try:
        return (policy / "scaling_governor").read_text().strip()
    except OSError:
        return ""
