"""Mounts by /proc/PID/mountinfo (proc(5)), and the mount through which a file was opened."""

from __future__ import annotations

import os
import select
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    Device = tuple[int, int]

_MAX_BYTES: Final = 8 << 20
_MOST_WATCHED: Final = 32
SERVED_BY_A_PROGRAM: Final = b"fuse"
"""Prefix of the types of file systems that a program serves."""


class Mount(NamedTuple):
    """One line of /proc/PID/mountinfo (proc(5)): `options` are the file system's, not the mount's."""

    device: Device
    point: bytes
    kind: bytes
    options: bytes


class _MountTable:
    """The mounts of a mount namespace as a process sees them, read again after each change.

    poll(2) on an open mountinfo reports whether it has changed since the last poll. So an id found here belongs to
    that mount: an id is reused only after its mount is gone. An open mountinfo keeps its namespace alive.
    """

    def __init__(self, process: str) -> None:
        """`process` is the process's folder in /proc. Raises OSError."""
        self._descriptor = os.open(f"/proc/{process}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changed = select.poll()
        self._changed.register(self._descriptor, select.POLLERR | select.POLLPRI)
        self._changed.poll(0)
        self._read()

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):  # __init__ failed
            os.close(self._descriptor)

    def mounts(self) -> dict[bytes, Mount]:
        """The current mounts by id."""
        if self._changed.poll(0):
            self._read()
        return self._mounts

    def devices(self) -> frozenset[Device]:
        """The current devices that no program serves."""
        self.mounts()
        return self._devices

    def _read(self) -> None:
        text = b""
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            text = _read_all(self._descriptor)
        self._mounts = parse_mounts(text)
        self._devices = devices(self._mounts)


class _MountTables(threading.local):
    """The mount tables that one thread watches: the gateway's own, and those of processes in other namespaces."""

    def __init__(self) -> None:
        self._pid = 0
        self._own: _MountTable | None = None
        self._others: OrderedDict[tuple[int, str], _MountTable] = OrderedDict()

    def own(self) -> _MountTable | None:
        """The gateway's own; None: unreadable."""
        # A forked process shares the descriptors, and each poll would consume the other's change.
        if self._pid != os.getpid():
            self._others.clear()
            try:
                self._own = _MountTable("self")
            except OSError:
                return None
            self._pid = os.getpid()
        return self._own

    def of(self, pid: int) -> _MountTable | None:
        """Those of a process; None: the process has ended or may not be read."""
        self.own()
        try:
            # mountinfo omits mounts outside the process's root (proc(5)).
            seen_from = (os.stat(f"/proc/{pid}/ns/mnt").st_ino, os.readlink(f"/proc/{pid}/root"))  # noqa: PTH115, PTH116 - Path is dearer
            watched = self._others.pop(seen_from, None) or _MountTable(str(pid))
        except OSError:
            return None
        self._others[seen_from] = watched
        if len(self._others) > _MOST_WATCHED:
            self._others.popitem(last=False)
        return watched

    def forget_others(self) -> None:
        self._others.clear()


_tables: Final = _MountTables()


def own_mounts() -> dict[bytes, Mount]:
    """The gateway's own mounts by id, as of now."""
    own = _tables.own()
    return {} if own is None else own.mounts()


def own_devices() -> frozenset[Device]:
    """Devices of the gateway's own mounts that no program serves, as of now."""
    own = _tables.own()
    return frozenset() if own is None else own.devices()


def mounts_of(pid: int) -> dict[bytes, Mount]:
    """The mounts that a process sees, by id, as of now; none if it has ended or may not be read.

    They are watched until `forget_other_mounts`, at most 32 namespaces at a time: reading and parsing them for each
    file took 0.4 ms with the 63 mounts of a container.
    """
    watched = _tables.of(pid)
    return {} if watched is None else watched.mounts()


def devices_of(pid: int) -> frozenset[Device]:
    """Devices of a process's mounts that no program serves, as of now."""
    watched = _tables.of(pid)
    return frozenset() if watched is None else watched.devices()


def forget_other_mounts() -> None:
    """Stop watching other namespaces: a watched one would outlive its processes."""
    _tables.forget_others()


def parse_mounts(text: bytes) -> dict[bytes, Mount]:
    """Parse the text of /proc/PID/mountinfo into mounts by id; skips malformed lines."""
    found: dict[bytes, Mount] = {}
    # Of the characters that end a line or a field, the kernel escapes only these in a path.
    for line in text.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields, about = before.split(b" "), after.split(b" ", 2)
        major, _, minor = fields[2].partition(b":") if len(fields) > 4 else (b"", b"", b"")
        if major.isdigit() and minor.isdigit():
            options = about[2] if len(about) > 2 else b""
            found[fields[0]] = Mount((int(major), int(minor)), fields[4], about[0], options)
    return found


def devices(mounts: dict[bytes, Mount]) -> frozenset[Device]:
    """Devices of these mounts that no program serves."""
    return frozenset(
        mount.device for mount in mounts.values() if not mount.kind.startswith(SERVED_BY_A_PROGRAM)
    )


def mount_id(descriptor: int) -> bytes:
    """The id, in decimal, of the mount through which a file was opened; empty: unknown to the kernel.

    A file that is bind-mounted into a folder has another id than the folder.
    """
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            lines = file.read(1 << 10).split(b"\n")
    except OSError:
        return b""
    return next((line.partition(b":")[2].strip() for line in lines if line.startswith(b"mnt_id:")), b"")


def _read_all(descriptor: int) -> bytes:
    """Whole lines of a mountinfo; raises OSError."""
    pieces: list[bytes] = []
    size = 0
    while size < _MAX_BYTES and (piece := os.read(descriptor, 1 << 16)):
        pieces.append(piece)
        size += len(piece)
    text = b"".join(pieces)
    return text[: text.rfind(b"\n") + 1]
