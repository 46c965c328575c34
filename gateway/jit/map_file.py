"""Opening the perf map that a process wrote: /tmp/perf-PID.map, by the number it has where it lives.

/tmp is anybody's, so a file there may be somebody else's who wants to name other people's code, or to have
the gateway read what he may not. A file counts only if it is a regular one, no link of either kind and nothing
mounted there, owned by the process's user, and was written to since the process started: numbers are given
again, and a container's first process is always 1. Agents write for others as root: root's file counts too,
but not for a process in a user namespace of its own, which may have mounted any folder of root's as its /tmp.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Final

from gateway.errors import AccessDenied, ProcessGone
from gateway.process.file_systems import shares_user_namespace

_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW
_ROOT: Final = 0
_START_TIME_FIELD: Final = 19
"""Of /proc/PID/stat, counted from the state behind the name in parentheses."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
# Clocks of files go in steps of up to 10 ms, that of processes too; and the wall clock is being adjusted.
_CLOCKS_DIFFER_S: Final = 2.0


class MapRefused(Exception):
    """There is a file, but it is not to be believed or not to be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A live process as far as its map goes: whose files it may write, its number in its own namespace.

    `nested`: that is not the namespace the gateway sees it in. `started` is on the wall clock, in seconds.
    `may_mount`: it lives in another user namespace than the gateway, or may.
    """

    pid: int
    users: frozenset[int]
    own_pid: int
    nested: bool
    started: float
    may_mount: bool


def read_owner(pid: int) -> Owner:
    """Look at a live process. Raises ProcessGone, AccessDenied."""
    status = _read(f"/proc/{pid}/status")
    told = dict(line.partition(b":")[::2] for line in status.split(b"\n"))
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    try:
        _, effective, _, filesystem = map(int, told[b"Uid"].split())
        numbers = [int(number) for number in told[b"NSpid"].split()]
        since_boot = int(fields[_START_TIME_FIELD]) / _TICKS_PER_S
        own_pid = numbers[-1]
    except (KeyError, ValueError, IndexError) as reason:
        raise ProcessGone(f"process {pid} has ended") from reason
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    users = frozenset({effective, filesystem})
    return Owner(pid, users, own_pid, len(numbers) > 1, boot + since_boot, not shares_user_namespace(pid))


def open_map(pid: int) -> int | None:
    """Return a descriptor of a live process's map; None: it has written none.

    Raises MapRefused, ProcessGone, AccessDenied.
    """
    owner = read_owner(pid)
    return _open(owner, owner.own_pid, since=owner.started)


def open_map_left_behind(pid: int, parent: int, *, since: float) -> int | None:
    """Return a descriptor of the map that a process has left that is gone; None: there is none.

    It is looked for where its parent lives and taken for the parent's user's, written after `since` (wall
    clock, seconds). In another pid namespace its number is not known any more. Raises like `open_map`.
    """
    owner = read_owner(parent)
    return None if owner.nested else _open(owner, pid, since=since)


def _open(owner: Owner, number: int, *, since: float) -> int | None:
    if is_served_by_a_program(_read(f"/proc/{owner.pid}/mountinfo", limit=1 << 20)):
        raise MapRefused(
            "a program serves the file system of /tmp (FUSE), and could keep the gateway waiting"
        )
    try:
        root = os.open(f"/proc/{owner.pid}/root", os.O_PATH | os.O_CLOEXEC)
        try:
            folder = os.open("tmp", os.O_PATH | os.O_DIRECTORY | _FLAGS, dir_fd=root)
        finally:
            os.close(root)
        try:
            return _open_in(folder, f"perf-{number}.map", owner, since)
        finally:
            os.close(folder)
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        return None
    except PermissionError as reason:
        raise AccessDenied(f"the perf map of process {owner.pid} may not be read") from reason
    except OSError as reason:
        raise MapRefused(f"it cannot be opened: {reason.strerror}") from reason


def _open_in(folder: int, name: str, owner: Owner, since: float) -> int:
    # What is opened by O_PATH cannot do anything yet; a device or a pipe is never opened further.
    found = os.open(name, os.O_PATH | _FLAGS, dir_fd=folder)
    try:
        # Before anything is asked of its file system, which may be another than the folder's.
        if _mount(found) != _mount(folder):
            raise MapRefused("another file is mounted over it")
        _check(os.fstat(found), owner, since)
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(found)


def _check(status: os.stat_result, owner: Owner, since: float) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise MapRefused("it is no regular file, or a link")
    if status.st_uid == _ROOT and _ROOT not in owner.users and owner.may_mount:
        raise MapRefused("root owns it, but the process may have mounted it there")
    if status.st_uid != _ROOT and status.st_uid not in owner.users:
        raise MapRefused(f"user {status.st_uid} owns it, not the process's")
    if status.st_mtime < since - _CLOCKS_DIFFER_S:
        raise MapRefused("it was written before the process started")


def _mount(descriptor: int) -> bytes:
    """The id of the mount through which a file was opened: a file bind-mounted into a folder has another than the folder."""
    for line in _read(f"/proc/self/fdinfo/{descriptor}").splitlines():
        if line.startswith(b"mnt_id:"):
            return line
    raise MapRefused("the kernel does not say through which mount it was opened")


def is_served_by_a_program(mounts: bytes) -> bool:
    """Whether the file system at /tmp is FUSE, by the text of /proc/PID/mountinfo.

    Any user can mount one in a namespace of his own; its lookups end when its program likes.
    """
    kinds = {b"/": b"", b"/tmp": b""}
    # Of what could end a line or a field, the kernel escapes no more than these in a path.
    for line in mounts.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields = before.split(b" ")
        if len(fields) > 4 and fields[4] in kinds:
            kinds[fields[4]] = after.split(b" ", 1)[0]  # a later one lies over an earlier one
    return (kinds[b"/tmp"] or kinds[b"/"]).startswith(b"fuse")


def _read(path: str, limit: int = 16 << 10) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            pieces = []
            while limit > 0 and (piece := file.read(limit)):
                pieces.append(piece)
                limit -= len(piece)
            return b"".join(pieces)
    except (FileNotFoundError, ProcessLookupError) as reason:
        raise ProcessGone(f"{path} is gone") from reason
    except PermissionError as reason:
        raise AccessDenied(f"{path} may not be read") from reason
    except OSError as reason:
        # A process that has ended but was not waited for answers EINVAL.
        raise ProcessGone(f"{path} cannot be read any more: {reason.strerror}") from reason
