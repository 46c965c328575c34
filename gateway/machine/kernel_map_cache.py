"""Caches the kernel's map across servers, in memory shared with the waiting process.

Reading /proc/kallsyms costs 75–105 ms of CPU, a quarter of a visit that has to start the server, and its content is
constant while the machine runs and the same modules are loaded.
"""

from __future__ import annotations

import marshal
import struct
from typing import TYPE_CHECKING, Final

from gateway.shared_memory import shared_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.machine.kernel_map import KernelMap, Module

# 120 000 functions take 0.5 MiB, 150 modules as much again. Untouched pages cost nothing.
_BYTES: Final = 8 << 20
_LENGTH: Final = struct.Struct("<Q")


class KernelMapCache:
    """Space for one map. One process writes at a time, the server."""

    def __init__(self, size: int = _BYTES) -> None:
        """An empty cache; processes forked from now on share it."""
        self._memory = shared_memory(size)
        self._room = size - _LENGTH.size

    def store(self, kernel: KernelMap, modules: Sequence[Module]) -> None:
        """Store a map with its modules, unless it is unreadable or too large."""
        self._memory[: _LENGTH.size] = bytes(_LENGTH.size)
        if not kernel.readable:
            return
        content = marshal.dumps((_key(modules), kernel.saved()))
        if len(content) <= self._room:
            self._memory[_LENGTH.size : _LENGTH.size + len(content)] = content
            # Written last: a server killed before leaves the cache empty.
            self._memory[: _LENGTH.size] = _LENGTH.pack(len(content))

    def load(
        self, modules: Sequence[Module], read: Callable[[], KernelMap] | None = None
    ) -> KernelMap | None:
        """The map stored for exactly these modules; `read` loads the parts that were not stored, on demand."""
        from gateway.machine.kernel_map import KernelMap, read_kernel_map  # noqa: PLC0415 - the waiting process has no use for it

        (length,) = _LENGTH.unpack_from(self._memory, 0)
        if not length:
            return None
        key, saved = marshal.loads(self._memory[_LENGTH.size : _LENGTH.size + length])  # noqa: S302 - our own fork wrote it
        return KernelMap.from_saved(saved, modules, read or read_kernel_map) if key == _key(modules) else None


def _key(modules: Sequence[Module]) -> list[tuple[str, int, int, bytes]]:
    return [(module.name, module.base, module.size, module.build_id) for module in modules]
