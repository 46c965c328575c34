"""Main memory, from /proc/meminfo (proc(5))."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gateway.machine.kernel_files import read_text
from gateway.machine.topology import PROC

if TYPE_CHECKING:
    from pathlib import Path

_FIELD: Final = re.compile(r"^([^:\n]+):[ \t]+(\d{1,18})(?: (kB))?$", re.MULTILINE | re.ASCII)


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes by name; page counts for entries without a unit (HugePages_Total)."""
    return {name: int(value) << 10 if unit else int(value) for name, value, unit in _FIELD.findall(text)}


def meminfo(proc: Path = PROC) -> dict[str, int]:
    """The current values; empty if unreadable."""
    return parse_meminfo(read_text(f"{proc}/meminfo"))


def swap_used(sizes: dict[str, int]) -> int:
    """Bytes of swap in use; 0 without swap."""
    return max(0, sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0))
