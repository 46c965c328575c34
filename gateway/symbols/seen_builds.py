"""Builds that captures of this machine saw, and where: survives restarts of the server process.

The waiting process and the servers that it forks share the memory, which may be backed by a file (like that of
served_visits): a collector requests symbols minutes after a capture, when the server that took it may have ended. A
file is valid for one boot: its times are CLOCK_MONOTONIC's.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.shared_memory import shared_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BUILDS: Final = 1024
MAX_AGE_S: Final = 3 * 86_400.0
"""An older build is not returned any more."""
MAX_PATH_BYTES: Final = 482
_DIGEST_BYTES: Final = 16
_COUNT: Final = struct.Struct("<Q")
# CLOCK_MONOTONIC of the last use, the process, the path's length; the path follows.
_ENTRY: Final = struct.Struct("<dIH")
_ENTRY_BYTES: Final = _ENTRY.size + MAX_PATH_BYTES
_KEYS_AT: Final = _COUNT.size
_ENTRIES_AT: Final = _KEYS_AT + MAX_BUILDS * _DIGEST_BYTES


class SeenBuild(NamedTuple):
    """A process that ran the build, and the path of its mapping; "" if that is too long to store."""

    pid: int
    path: str


class SeenBuilds:
    """The `MAX_BUILDS` newest builds, each with its latest process and path. One process writes at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, file: Path | None = None) -> None:
        self._memory = shared_memory(_ENTRIES_AT + MAX_BUILDS * _ENTRY_BYTES, file)
        self._lock = threading.Lock()
        self._clock = clock

    def note(self, key: str, pid: int, path: str) -> None:
        """Store a build by its build-id as hex, or its content key."""
        encoded = path.encode("utf-8", "surrogateescape")
        if len(encoded) > MAX_PATH_BYTES:
            encoded = b""
        digest = _digest(key)
        with self._lock:
            slot = self._slot(digest)
            if slot < 0:
                (count,) = _COUNT.unpack_from(self._memory, 0)
                slot = count % MAX_BUILDS
                _COUNT.pack_into(self._memory, 0, count + 1)
                at = _KEYS_AT + slot * _DIGEST_BYTES
                self._memory[at : at + _DIGEST_BYTES] = digest
            at = _ENTRIES_AT + slot * _ENTRY_BYTES
            _ENTRY.pack_into(self._memory, at, self._clock(), pid, len(encoded))
            self._memory[at + _ENTRY.size : at + _ENTRY.size + len(encoded)] = encoded

    def find(self, key: str) -> SeenBuild | None:
        """The latest process and path of a build; None: not seen, or not recently."""
        with self._lock:
            slot = self._slot(_digest(key))
            if slot < 0:
                return None
            at = _ENTRIES_AT + slot * _ENTRY_BYTES
            seen_at, pid, length = _ENTRY.unpack_from(self._memory, at)
            path = self._memory[at + _ENTRY.size : at + _ENTRY.size + length]
        if self._clock() - seen_at > MAX_AGE_S:
            return None
        return SeenBuild(pid, path.decode("utf-8", "surrogateescape"))

    def _slot(self, digest: bytes) -> int:
        (count,) = _COUNT.unpack_from(self._memory, 0)
        end = _KEYS_AT + min(count, MAX_BUILDS) * _DIGEST_BYTES
        at = self._memory.find(digest, _KEYS_AT, end)
        while at >= 0 and (at - _KEYS_AT) % _DIGEST_BYTES:
            at = self._memory.find(digest, at + 1, end)
        return (at - _KEYS_AT) // _DIGEST_BYTES if at >= 0 else -1


def _digest(key: str) -> bytes:
    # Imported here: it loads OpenSSL, and the waiting process holds this module too.
    import hashlib  # noqa: PLC0415

    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()
