"""What is mounted, by /proc/PID/mountinfo (proc(5)), and through which mount a file was opened."""

from __future__ import annotations

import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    Device = tuple[int, int]

_MAX_BYTES: Final = 8 << 20
SERVED_BY_A_PROGRAM: Final = b"fuse"
"""What the kinds of file systems that a program serves begin with."""


class Mount(NamedTuple):
    """One line of /proc/PID/mountinfo (proc(5)): `options` are the file system's, not the mount's."""

    device: Device
    point: bytes
    kind: bytes
    options: bytes


class _OwnMounts(threading.local):
    """The gateway's own mounts, read again once they have changed; for each thread its own.

    The kernel says of an open mountinfo whether it has changed since the last poll(2). So a live mount that is found here by
    its id is that mount: an id is given again only after its mount is gone.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._descriptor = -1
        self._changed = select.poll()
        self._mounts: dict[bytes, Mount] = {}
        self._devices: frozenset[Device] = frozenset()

    def mounts(self) -> dict[bytes, Mount]:
        """By id."""
        # A forked process shares the descriptor, and each poll would take the change from the other.
        if self._pid != os.getpid():
            self._watch()
        elif self._changed.poll(0):
            self._read()
        return self._mounts

    def devices(self) -> frozenset[Device]:
        self.mounts()
        return self._devices

    def _watch(self) -> None:
        self._close()
        try:
            self._descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._mounts, self._devices = {}, frozenset()
            return
        self._changed.register(self._descriptor, select.POLLERR | select.POLLPRI)
        self._changed.poll(0)
        self._read()
        self._pid = os.getpid()

    def _read(self) -> None:
        text = b""
        with suppress(OSError):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            text = _read_all(self._descriptor)
        self._mounts, self._devices = parse_mounts(text), devices(text)

    def _close(self) -> None:
        if self._descriptor >= 0:
            self._changed.unregister(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


_own: Final = _OwnMounts()


def own_mounts() -> dict[bytes, Mount]:
    """The gateway's own, by id, as of now."""
    return _own.mounts()


def own_devices() -> frozenset[Device]:
    """The devices, of those of the gateway's own mounts, that no program serves, as of now."""
    return _own.devices()


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


def devices(mounts: bytes) -> frozenset[Device]:
    """The devices in the text of /proc/PID/mountinfo that no program serves. A line out of form is passed over."""
    return frozenset(
        mount.device
        for mount in parse_mounts(mounts).values()
        if not mount.kind.startswith(SERVED_BY_A_PROGRAM)
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


def read_mounts(pid: int) -> bytes:
    """The text of a process's mountinfo; empty: it has ended or may not be looked at."""
    try:
        with open(f"/proc/{pid}/mountinfo", "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            return _read_all(file.fileno())
    except OSError:
        return b""


def _read_all(descriptor: int) -> bytes:
    """Whole lines of a mountinfo; raises OSError."""
    pieces: list[bytes] = []
    size = 0
    while size < _MAX_BYTES and (piece := os.read(descriptor, 1 << 16)):
        pieces.append(piece)
        size += len(piece)
    text = b"".join(pieces)
    return text[: text.rfind(b"\n") + 1]
