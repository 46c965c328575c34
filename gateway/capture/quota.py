"""What a capture may use of memory and of bytes; one that has used it ends early, with all that it has seen."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway.settings import Limits

_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = os.sysconf("SC_PAGESIZE")
# A process that kept this part of its limit after a capture is replaced: Python gives little back.
_RETIRE_SHARE: Final = 0.75
# Beyond the limit, before allocations fail: what a table read in one go may take, and the reserved but unused
# stacks of some thirty threads, which count although nothing lies in them.
_BACKSTOP_BYTES: Final = 512 << 20


class Quota:
    """Compares what is used with what the operator allows."""

    def __init__(self, limits: Limits, statm: Path = _STATM) -> None:
        self._limits = limits
        self._statm = statm

    def exceeded(self, raw_bytes: int) -> str:
        """Which limit a capture has reached that would be of `raw_bytes` now, as a sentence; "" for none."""
        if raw_bytes >= self._limits.max_bytes:
            return f"it had grown to the {_mib(self._limits.max_bytes)} that one capture may have (--max-mib)"
        if resident_memory(self._statm) >= self._limits.max_memory_bytes:
            return f"the gateway used the {_mib(self._limits.max_memory_bytes)} of memory it may (--max-memory-mib)"
        return ""

    @property
    def is_nearly_exceeded(self) -> bool:
        """So much memory is in use between captures that a fresh process should take the next."""
        return resident_memory(self._statm) >= self._limits.max_memory_bytes * _RETIRE_SHARE


def resident_memory(statm: Path = _STATM) -> int:
    """Bytes this process alone has in memory: neither rings nor mapped files, which the kernel can take back.

    `statm` is proc(5)'s: pages of the second field less those of the third.
    """
    fields = statm.read_bytes().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE


def limit_data(limits: Limits) -> None:
    """Let allocations fail far above the limit, for growth within one step that nothing can look at.

    RLIMIT_DATA and not RLIMIT_AS: rings and mapped binaries are not data.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limits.max_memory_bytes + _BACKSTOP_BYTES
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.4g} MiB"
