"""Pressure stall information: share of time in which tasks waited for CPU, memory or disk (Linux: accounting/psi)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.machine.kernel_files import read_text
from gateway.machine.topology import PROC

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RESOURCES: Final = ("cpu", "memory", "io", "irq")
_MAX_TOTAL: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class PressureStall:
    """One line of a PSI file: the share of the last 10 s in percent, 0…100, and µs stalled since boot."""

    avg10: float
    total_us: int


def parse_pressure(text: str) -> dict[str, PressureStall]:
    """The lines "some" and "full" of a PSI file, without damaged ones."""
    stalls = {}
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        values = dict(field.split("=", 1) for field in fields if "=" in field)
        try:
            avg10, total = float(values["avg10"]), int(values["total"])
        except (KeyError, ValueError):
            continue
        if (
            kind in {"some", "full"}
            and math.isfinite(avg10)
            and 0 <= avg10 <= 100
            and 0 <= total < _MAX_TOTAL
        ):
            stalls[kind] = PressureStall(avg10, total)
    return stalls


def read_pressure(
    resources: tuple[str, ...] = RESOURCES, proc: Path = PROC
) -> dict[str, dict[str, PressureStall]]:
    """Readings by resource, then by kind. Empty: this kernel has no PSI, or psi=0 disables it."""
    found = {name: parse_pressure(read_text(f"{proc}/pressure/{name}")) for name in resources}
    # The kernel prints 0 for "full" CPU of the whole system, where it has no meaning: a task always runs.
    found.get("cpu", {}).pop("full", None)
    return {name: stalls for name, stalls in found.items() if stalls}


def stalled_us(
    before: Mapping[str, Mapping[str, PressureStall]], after: Mapping[str, Mapping[str, PressureStall]]
) -> dict[str, int]:
    """µs that "some" task stalled between two readings, by resource."""
    return {
        name: max(0, stalls["some"].total_us - before[name]["some"].total_us)
        for name, stalls in after.items()
        if "some" in stalls and "some" in before.get(name, {})
    }
