"""Which files the kernel serves itself, so that opening one, or reading a page of one, ends.

Any user can have a program of his serve a file system (FUSE), lay an overlay over it in a user namespace of his own,
and map a file of it. Whoever opens that file, looks for a name beside it or reads a page of the mapping waits until
the program answers, and cannot even be killed meanwhile: no process may be asked for such a page, and no such file is
opened. The kernel keeps others from FUSE itself (fuse_allow_current_process), but not from overlays over it, which
read as the user who mounted them, nor from mapped pages.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from typing import TYPE_CHECKING, Final

from gateway.process.mounts import (
    SERVED_BY_A_PROGRAM,
    devices_of,
    mount_id,
    mounts_of,
    own_devices,
    own_mounts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.process.mounts import Mount

    Device = tuple[int, int]

# Those that read other file systems and that a user may mount in a user namespace (FS_USERNS_MOUNT; Debian, Ubuntu).
_OVER_OTHERS: Final = frozenset({b"overlay", b"shiftfs", b"aufs"})
_INIT: Final = 1
_FUSE_CONNECTIONS: Final = "/sys/fs/fuse/connections"
_NS_GET_OWNER_UID: Final = 0xB704  # linux/nsfs.h
# linux/stat.h, linux/fcntl.h: struct statx, and to fill it from what is known without a request to the file system.
_STATX_BYTES: Final = 256
_STATX_DEVICE: Final = struct.Struct("=136x2I")
_AT_STATX_DONT_SYNC: Final = 0x4000
_AT_EMPTY_PATH: Final = 0x1000
_libc: Final = ctypes.CDLL(None)

USERS_PROGRAM: Final = "a user's program serves its file system (FUSE) and could keep the gateway waiting"
OVERLAY: Final = "its file system lies over others, which a user's program may serve (FUSE)"
UNKNOWN: Final = "the kernel does not say which file system it is on"


def served_by_kernel(pid: int) -> Callable[[Device], bool]:
    """Whether the files on a device (major, minor) that a process maps are served by the kernel, or may not be.

    A device with a major number is a block device, which only root mounts. Of the others those count that are
    mounted where the gateway lives, or where the process does; but not the latter if the process has a user
    namespace of its own, where it can mount an overlay over whatever it likes.
    """
    process_mounts: frozenset[Device] | None = None

    def served(device: Device) -> bool:
        nonlocal process_mounts
        if device[0] or device in own_devices():
            return True
        if process_mounts is None:
            process_mounts = devices_of(pid) if shares_user_namespace(pid) else frozenset()
        return device in process_mounts

    return served


def why_not_served(descriptor: int, pid: int) -> str:
    """Why a call on the file might have to wait for a user's program; "": the kernel serves it.

    `descriptor` may be by O_PATH; the file is one that process `pid` sees. Nothing is asked of its file system. What root mounted counts
    as the kernel's, and what the gateway's own user did.
    """
    device = _device(descriptor)
    # Disks of root's (as in `served_by_kernel`). An overlay's file has its disk's number only where it is opened from that alone.
    if device is not None and device[0]:
        return ""
    if not (number := mount_id(descriptor)):
        return UNKNOWN
    if (own := own_mounts().get(number)) is not None:
        return "" if is_trusted(own) else USERS_PROGRAM
    process_mounts = mounts_of(pid).get(number)
    if process_mounts is None:
        # Of no namespace: memory (memfd_create(2)), or unmounted while in use. The open file keeps its device's number.
        known = device is not None and (device in own_devices() or device == _memory_device())
        return "" if known else UNKNOWN
    # After its mounts were read: a process can leave the gateway's user namespace, and never comes back to it.
    if shares_user_namespace(pid):
        return "" if is_trusted(process_mounts) else USERS_PROGRAM
    if trusts_mounts_of(pid):
        return ""
    if process_mounts.kind.startswith(SERVED_BY_A_PROGRAM):
        return USERS_PROGRAM
    if (
        process_mounts.kind not in _OVER_OTHERS
        or _is_mounted_by_root(process_mounts.device)
        or _no_user_serves()
    ):
        return ""
    return OVERLAY


def shares_user_namespace(pid: int) -> bool:
    """Whether a process lives in the gateway's user namespace; False also if that cannot be told."""
    try:
        process_mounts, ours = os.stat(f"/proc/{pid}/ns/user"), os.stat("/proc/self/ns/user")  # noqa: PTH116 - Path is dearer
    except OSError:
        return False
    return (process_mounts.st_dev, process_mounts.st_ino) == (ours.st_dev, ours.st_ino)


def trusts_mounts_of(pid: int) -> bool:
    """Whether what a process sees was mounted by root, or by the gateway's own user; False if that cannot be told.

    In a user namespace everybody mounts; one that root made may be for others (a container's). The gateway's own user can stop
    the gateway anyway: `fleetprof up` without root over containers without root.
    """
    if shares_user_namespace(pid):
        return True
    if not os.geteuid():
        return False
    try:
        namespace = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            owner: bytes = fcntl.ioctl(namespace, _NS_GET_OWNER_UID, bytes(4))
        finally:
            os.close(namespace)
    except OSError:
        return False
    return int.from_bytes(owner, "little") == os.geteuid()


def is_trusted(mount: Mount) -> bool:
    """Whether the kernel serves it, or a program of root's or of the gateway's own user's; by the ids of the gateway's namespace."""
    if not mount.kind.startswith(SERVED_BY_A_PROGRAM):
        return True
    return any(f"user_id={user}".encode() in mount.options.split(b",") for user in (0, os.geteuid()))


def _is_mounted_by_root(device: Device) -> bool:
    """Whether an overlay is one that the machine's root mounted, in the gateway's namespace or in that of process 1.

    So are those of containers that a root's engine gives a user namespace. Nobody makes another file system with that number.
    """
    return device in own_devices() or (shares_user_namespace(_INIT) and device in devices_of(_INIT))


def _no_user_serves() -> bool:
    """Whether no user but root and the gateway's own has a program that serves a file system, in whatever namespace.

    Each has a folder, which its user owns, as long as anything lies over it (Documentation/filesystems/fuse.rst).
    """
    mounts = own_mounts().values()
    if not any(mount.kind == b"fusectl" and mount.point == _FUSE_CONNECTIONS.encode() for mount in mounts):
        # A kernel that knows no FUSE has no place for them.
        return not os.path.exists(_FUSE_CONNECTIONS) and os.path.exists("/sys/fs")  # noqa: PTH110
    try:
        with os.scandir(_FUSE_CONNECTIONS) as entries:
            return all(entry.stat(follow_symlinks=False).st_uid in {0, os.geteuid()} for entry in entries)
    except OSError:
        return False


def _device(descriptor: int) -> Device | None:
    """The device of an open file without a request to its file system; None: this C library or kernel has no statx(2)."""
    status = ctypes.create_string_buffer(_STATX_BYTES)
    try:
        failed = _libc.statx(descriptor, b"", _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC, 0, status)
    except AttributeError:
        return None
    if failed:
        return None
    major, minor = _STATX_DEVICE.unpack_from(status)
    return major, minor


def _memory_device() -> Device | None:
    """The device that memory files of all processes are on."""
    try:
        memory = os.memfd_create("fleetprof")
    except OSError:
        return None
    try:
        return _device(memory)
    finally:
        os.close(memory)
