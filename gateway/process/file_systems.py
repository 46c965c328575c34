"""Which files the kernel serves itself, so that reading a page of one ends.

Any user can have a program of his serve a file system (FUSE), and map a file of it. Whoever reads a page of that
mapping waits until the program answers, and cannot even be killed meanwhile: no process may be asked for such a
page. The kernel keeps others from opening such files, but not from reading mapped pages.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Device = tuple[int, int]

_MAX_BYTES: Final = 1 << 20
# Only root unmounts what is mounted where the gateway lives.
_OWN_GOOD_FOR_S: Final = 5.0


class _Own:
    """The gateway's own mounts, as of a moment ago."""

    def __init__(self) -> None:
        self.read_at = -_OWN_GOOD_FOR_S
        self.devices: frozenset[Device] = frozenset()


_own: Final = _Own()


def served_by_kernel(pid: int) -> Callable[[Device], bool]:
    """Whether the files on a device (major, minor) that a process maps are served by the kernel, or may not be.

    A device with a major number is a block device, which only root mounts. Of the others those count that are
    mounted where the gateway lives, or where the process does; but not the latter if the process has a user
    namespace of its own, where it can mount an overlay over whatever it likes.
    """
    its: frozenset[Device] | None = None

    def served(device: Device) -> bool:
        nonlocal its
        if device[0] or device in _own_devices():
            return True
        if its is None:
            its = devices(_mounts(pid)) if shares_user_namespace(pid) else frozenset()
        return device in its

    return served


def shares_user_namespace(pid: int) -> bool:
    """Whether a process lives in the gateway's user namespace; False also if that cannot be told."""
    try:
        its, ours = os.stat(f"/proc/{pid}/ns/user"), os.stat("/proc/self/ns/user")  # noqa: PTH116 - Path is dearer
    except OSError:
        return False
    return (its.st_dev, its.st_ino) == (ours.st_dev, ours.st_ino)


def devices(mounts: bytes) -> frozenset[Device]:
    """The devices in the text of /proc/PID/mountinfo that no program serves. A line out of form is passed over."""
    found: set[Device] = set()
    # Of what could end a line or a field, the kernel escapes no more than these in a path.
    for line in mounts.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        major, _, minor = fields[2].partition(b":") if len(fields) > 4 else (b"", b"", b"")
        if major.isdigit() and minor.isdigit() and not after.startswith(b"fuse"):
            found.add((int(major), int(minor)))
    return frozenset(found)


def _own_devices() -> frozenset[Device]:
    now = time.monotonic()
    if now - _own.read_at >= _OWN_GOOD_FOR_S:
        _own.devices, _own.read_at = devices(_mounts(os.getpid())), now
    return _own.devices


def _mounts(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/mountinfo", "rb") as file:  # noqa: PTH123 - Path costs twice the read
            text = file.read(_MAX_BYTES)
    except OSError:
        return b""
    return text[: text.rfind(b"\n") + 1]
