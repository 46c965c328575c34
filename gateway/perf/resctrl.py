"""Memory traffic by the L3's monitor, through resctrl (Documentation/filesystems/resctrl.rst).

The root group's `mbm_total_bytes` counts the traffic of all CPUs of an L3 that are in no monitoring group of their own.
It is read twice; nothing is opened or set up: a machine without a mounted resctrl has no reading.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway.machine.topology import SYS

_DOMAIN: Final = re.compile(r"mon_L3_([0-9]{1,6})")
SOURCE: Final = "resctrl/mbm_total_bytes/"


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """Bytes since the monitor began, by L3 domain."""

    by_domain: Mapping[int, int]

    def since(self, earlier: "BytesMoved") -> dict[int, int]:
        """Bytes between two readings; a domain whose counter decreased was reset and is omitted."""
        passed = {
            domain: now - earlier.by_domain[domain]
            for domain, now in self.by_domain.items()
            if domain in earlier.by_domain
        }
        return {domain: moved for domain, moved in passed.items() if moved >= 0}


def read_moved(sys: Path = SYS) -> BytesMoved:
    """The current reading; empty if resctrl is not mounted or readable, or the L3 has no monitor."""
    found: dict[int, int] = {}
    try:
        domains = [(match, entry) for entry in _entries(sys) if (match := _DOMAIN.fullmatch(entry.name))]
    except OSError:
        return BytesMoved({})
    for match, entry in domains:
        # The file may contain "Unavailable" or "Error".
        number = _number(entry / "mbm_total_bytes")
        if number >= 0:
            found[int(match[1])] = number
    return BytesMoved(found)


def package_of_domain(domain: int, cpus: list[int], sys: Path = SYS) -> int:
    """The package of the L3 with this number; −1: unknown."""
    for cpu in cpus:
        if _number(sys / f"devices/system/cpu/cpu{cpu}/cache/index3/id") == domain:
            return package_of_cpu(cpu, sys)
    return -1


def package_of_cpu(cpu: int, sys: Path = SYS) -> int:
    """The socket of a CPU; −1: unknown."""
    return _number(sys / f"devices/system/cpu/cpu{cpu}/topology/physical_package_id")


def _number(file: Path) -> int:
    """The number in a file; −1 if there is none."""
    try:
        return int(file.read_text(errors="replace"))
    except (OSError, ValueError):
        return -1


def _entries(sys: Path) -> list[Path]:
    return list((sys / "fs/resctrl/mon_data").iterdir())
