"""What is mounted, by /proc/PID/mountinfo (proc(5)), and through which mount a file was opened."""

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
"""What the kinds of file systems that a program serves begin with."""


class Mount(NamedTuple):
    """One line of /proc/PID/mountinfo (proc(5)): `options` are the file system's, not the mount's."""

    device: Device
    point: bytes
    kind: bytes
    options: bytes


class _MountTable:
    """The mounts of a mount namespace as a process sees them, read again once they have changed.

    The kernel says of an open mountinfo whether it has changed since the last poll(2). So a live mount that is found here by
    its id is that mount: an id is given again only after its mount is gone. An open mountinfo keeps its namespace alive.
    """

    def __init__(self, process: str) -> None:
        """`process` is its folder in /proc. Raises OSError."""
        self._descriptor = os.open(f"/proc/{process}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changed = select.poll()
        self._changed.register(self._descriptor, select.POLLERR | select.POLLPRI)
        self._changed.poll(0)
        self._read()

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):  # it was never opened
            os.close(self._descriptor)

    def mounts(self) -> dict[bytes, Mount]:
        """By id, as of now."""
        if self._changed.poll(0):
            self._read()
        return self._mounts

    def devices(self) -> frozenset[Device]:
        """The devices that no program serves, as of now."""
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
    """What one thread watches: the gateway's own mounts, and those of processes that live in other namespaces."""

    def __init__(self) -> None:
        self._pid = 0
        self._own: _MountTable | None = None
        self._others: OrderedDict[tuple[int, str], _MountTable] = OrderedDict()

    def own(self) -> _MountTable | None:
        """None: they cannot be read."""
        # A forked process shares the descriptors, and each poll would take the change from the other.
        if self._pid != os.getpid():
            self._others.clear()
            try:
                self._own = _MountTable("self")
            except OSError:
                return None
            self._pid = os.getpid()
        return self._own

    def of(self, pid: int) -> _MountTable | None:
        """None: the process has ended or may not be looked at."""
        self.own()
        try:
            # mountinfo leaves out what lies outside of the process's root (proc(5)).
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
    """The gateway's own, by id, as of now."""
    own = _tables.own()
    return {} if own is None else own.mounts()


def own_devices() -> frozenset[Device]:
    """The devices, of those of the gateway's own mounts, that no program serves, as of now."""
    own = _tables.own()
    return frozenset() if own is None else own.devices()


def mounts_of(pid: int) -> dict[bytes, Mount]:
    """The mounts that a process sees, by id, as of now; none if it has ended or may not be looked at.

    They are watched until `forget_other_mounts`, at most 32 namespaces at a time: reading and parsing them for each
    file took 0.4 ms with the 63 mounts of a container.
    """
    watched = _tables.of(pid)
    return {} if watched is None else watched.mounts()


def devices_of(pid: int) -> frozenset[Device]:
    """The devices, of those of the mounts that a process sees, that no program serves, as of now."""
    watched = _tables.of(pid)
    return frozenset() if watched is None else watched.devices()


def forget_other_mounts() -> None:
    """Watch no other namespace any longer: else one whose processes have ended would stay."""
    _tables.forget_others()


def parse_mounts(text: bytes) -> dict[bytes, Mount]:
    """The mounts in the text of /proc/PID/mountinfo by their ids. A line out of form is passed over."""
    found: dict[bytes, Mount] = {}
    # Of what could end a line or a field, the kernel escapes no more than these in a path.
    for line in text.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields, about = before.split(b" "), after.split(b" ", 2)
        major, _, minor = fields[2].partition(b":") if len(fields) > 4 else (b"", b"", b"")
        if major.isdigit() and minor.isdigit():
            options = about[2] if len(about) > 2 else b""
            found[fields[0]] = Mount((int(major), int(minor)), fields[4], about[0], options)
    return found


def devices(mounts: dict[bytes, Mount]) -> frozenset[Device]:
    """The devices of these mounts that no program serves."""
    return frozenset(
        mount.device for mount in mounts.values() if not mount.kind.startswith(SERVED_BY_A_PROGRAM)
    )


def mount_id(descriptor: int) -> bytes:
    """The id, in decimal, of the mount through which a file was opened; empty: the kernel does not say.

    A file bind-mounted into a folder has another than the folder.
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
