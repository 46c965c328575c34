"""Opens the perf map that a process wrote: /tmp/perf-PID.map, by its number in its own pid namespace.

Every user can write to /tmp, so a file there may be an attempt to name other users' code, or to have the gateway read a
file that its owner may not. A file is accepted only if it is regular, not a link of either kind, not a mount point,
owned by the process's user, and written since the process started: numbers are reused, and a container's first process
is always 1. Agents write for others as root: root's file is accepted too, except for a process in its own user
namespace, which may have mounted any folder of root's as its /tmp.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Final

from gateway.errors import AccessDenied, FileRefused, ProcessGone
from gateway.process.file_systems import shares_user_namespace
from gateway.process.mounts import mount_id
from gateway.process.untrusted_file import open_pinned, pinned

_ROOT: Final = 0
_STATUS_BYTES: Final = 16 << 10
_START_TIME_FIELD: Final = 19
"""Index in /proc/PID/stat, counted from the state after the name in parentheses."""
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
# Clocks of files and of processes advance in steps of up to 10 ms, and the wall clock is being adjusted.
_CLOCKS_DIFFER_S: Final = 2.0


class MapRefused(Exception):
    """A map exists but is not trusted or unreadable; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The facts of a live process that concern its map: the users whose files it may write, its own number.

    `nested`: its pid namespace is not the gateway's. `started`: wall clock, seconds. `may_mount`: its user namespace is
    not the gateway's, or is unknown.
    """

    pid: int
    users: frozenset[int]
    own_pid: int
    nested: bool
    started: float
    may_mount: bool


def read_owner(pid: int) -> Owner:
    """Read the facts of a live process. Raises ProcessGone, AccessDenied."""
    status = _read(f"/proc/{pid}/status")
    fields_of_status = dict(line.partition(b":")[::2] for line in status.split(b"\n"))
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    try:
        _, effective, _, filesystem = map(int, fields_of_status[b"Uid"].split())
        numbers = [int(number) for number in fields_of_status[b"NSpid"].split()]
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


def open_map_of_ended(pid: int, parent: int, *, since: float) -> int | None:
    """Return a descriptor of the map of a process that has ended; None: there is none.

    It is opened through the parent's root and must be owned by the parent's user and written after `since` (wall clock,
    seconds). The number of a process in another pid namespace is lost with it. Raises like `open_map`.
    """
    owner = read_owner(parent)
    return None if owner.nested else _open(owner, pid, since=since)


def _open(owner: Owner, number: int, *, since: float) -> int | None:
    try:
        with pinned(f"/proc/{owner.pid}/root", pid=owner.pid) as root:
            return _open_below(root, f"perf-{number}.map", owner, since)
    except (FileNotFoundError, ProcessLookupError) as reason:
        raise ProcessGone(f"process {owner.pid} has ended") from reason
    except FileRefused as reason:
        raise MapRefused(str(reason)) from reason
    except PermissionError as reason:
        raise AccessDenied(f"no access to the perf map of process {owner.pid}") from reason
    except OSError as reason:
        raise MapRefused(f"cannot open it: {reason.strerror}") from reason


def _open_below(root: int, name: str, owner: Owner, since: float) -> int | None:
    try:
        with (
            pinned("tmp", pid=owner.pid, folder=root, flags=os.O_DIRECTORY | os.O_NOFOLLOW) as folder,
            pinned(name, pid=owner.pid, folder=folder, flags=os.O_NOFOLLOW) as found,
        ):
            if mount_id(found) != mount_id(folder):
                raise MapRefused("another file is mounted over it")
            _check(os.fstat(found), owner, since)
            return open_pinned(found)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check(status: os.stat_result, owner: Owner, since: float) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise MapRefused("it is not a regular file, or it is a link")
    if status.st_uid == _ROOT and _ROOT not in owner.users and owner.may_mount:
        raise MapRefused("root owns it, but the process may have mounted it there")
    if status.st_uid != _ROOT and status.st_uid not in owner.users:
        raise MapRefused(f"user {status.st_uid} owns it, not the process's")
    if status.st_mtime < since - _CLOCKS_DIFFER_S:
        raise MapRefused("it was written before the process started")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - Path costs twice the read
            return file.read(_STATUS_BYTES)
    except (FileNotFoundError, ProcessLookupError) as reason:
        raise ProcessGone(f"{path} does not exist any more") from reason
    except PermissionError as reason:
        raise AccessDenied(f"no access to {path}") from reason
    except OSError as reason:
        # The kernel returns EINVAL for a zombie.
        raise ProcessGone(f"cannot read {path} any more: {reason.strerror}") from reason
