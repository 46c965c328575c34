"""Limits on memory and bytes of a capture; a capture that reaches one ends early and keeps its samples."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway.settings import Limits

_STATM: Final = Path("/proc/self/statm")
_PAGE: Final = os.sysconf("SC_PAGESIZE")
# A process above this share of its limit after a capture is replaced: Python returns little memory to the system.
_RETIRE_SHARE: Final = 0.75
# Headroom above the limit before allocations fail: the largest table that is read at once, and the reserved but
# unused stacks of some thirty threads, which count although they are empty.
_BACKSTOP_BYTES: Final = 512 << 20


class Quota:
    """Compares usage with the operator's limits."""

    def __init__(self, limits: Limits, statm: Path = _STATM) -> None:
        self._limits = limits
        self._statm = statm

    def exceeded(self, raw_bytes: int) -> str:
        """The limit that a capture of `raw_bytes` has reached, as a sentence; "" for none."""
        if raw_bytes >= self._limits.max_bytes:
            return f"it reached {_mib(self._limits.max_bytes)}, the limit of a capture (--max-mib)"
        if resident_memory(self._statm) >= self._limits.max_memory_bytes:
            return (
                f"the gateway reached its memory limit of {_mib(self._limits.max_memory_bytes)} "
                "(--max-memory-mib)"
            )
        return ""

    @property
    def is_nearly_exceeded(self) -> bool:
        """Whether this process holds so much memory between captures that a fresh one should take the next."""
        return resident_memory(self._statm) >= self._limits.max_memory_bytes * _RETIRE_SHARE


def resident_memory(statm: Path = _STATM) -> int:
    """Bytes of this process's private memory: neither rings nor mapped files, which the kernel can reclaim.

    `statm` (proc(5)): pages of the second field minus those of the third.
    """
    fields = statm.read_bytes().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE


def limit_data(limits: Limits) -> None:
    """Make allocations fail far above the limit, for growth within one step that no check sees.

    Uses RLIMIT_DATA, not RLIMIT_AS: rings and mapped binaries are not data.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limits.max_memory_bytes + _BACKSTOP_BYTES
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.4g} MiB"
