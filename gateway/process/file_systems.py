"""Which files the kernel serves itself, so that opening one, or reading a page of one, cannot block on a program.

Any user can serve a file system with a program (FUSE), mount an overlay over it in a user namespace, and map a file of
it. A process that opens such a file, looks up a name next to it or reads a page of the mapping blocks until the program
answers, and cannot be killed meanwhile. So no such page is read and no such file is opened. The kernel denies other
users access to FUSE itself (fuse_allow_current_process), but not to overlays over it, which read as the mounting user,
nor to mapped pages.
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

# File systems over others that a user may mount in a user namespace (FS_USERNS_MOUNT; Debian, Ubuntu).
_OVER_OTHERS: Final = frozenset({b"overlay", b"shiftfs", b"aufs"})
_INIT: Final = 1
_FUSE_CONNECTIONS: Final = "/sys/fs/fuse/connections"
_NS_GET_OWNER_UID: Final = 0xB704  # linux/nsfs.h
# linux/stat.h, linux/fcntl.h: struct statx, and flags to fill it without a request to the file system.
_STATX_BYTES: Final = 256
_STATX_DEVICE: Final = struct.Struct("=136x2I")
_AT_STATX_DONT_SYNC: Final = 0x4000
_AT_EMPTY_PATH: Final = 0x1000
_libc: Final = ctypes.CDLL(None)

USERS_PROGRAM: Final = "a user's program serves its file system (FUSE) and could block the gateway"
OVERLAY: Final = "its file system is stacked on others, which a user's program may serve (FUSE)"
UNKNOWN: Final = "the kernel does not report its file system"


def served_by_kernel(pid: int) -> Callable[[Device], bool]:
    """Whether the kernel serves the files on a device (major, minor) that a process maps; False if unknown.

    A device with a major number is a block device, which only root mounts. Others count if they are mounted in the
    gateway's namespace or in the process's; the latter not if the process has a user namespace of its own, in which it
    can mount an overlay over anything.
    """
    process_devices: frozenset[Device] | None = None

    def served(device: Device) -> bool:
        nonlocal process_devices
        if device[0] or device in own_devices():
            return True
        if process_devices is None:
            process_devices = devices_of(pid) if shares_user_namespace(pid) else frozenset()
        return device in process_devices

    return served


def why_not_served(descriptor: int, pid: int) -> str:
    """The reason why a call on the file may block on a user's program; "": the kernel serves it.

    `descriptor` may be opened with O_PATH; process `pid` sees the file. No request goes to the file system. Mounts of
    root and of the gateway's own user are trusted.
    """
    device = _device(descriptor)
    # Root's disks (as in `served_by_kernel`). A file seen through an overlay has its disk's number only if opened below
    # it.
    if device is not None and device[0]:
        return ""
    if not (number := mount_id(descriptor)):
        return UNKNOWN
    if (own := own_mounts().get(number)) is not None:
        return "" if is_trusted(own) else USERS_PROGRAM
    process_mount = mounts_of(pid).get(number)
    if process_mount is None:
        # In no namespace: memory (memfd_create(2)), or unmounted while in use. The open file keeps its device number.
        known = device is not None and (device in own_devices() or device == _memory_device())
        return "" if known else UNKNOWN
    # Only after its mounts were read: a process can leave the gateway's user namespace but never return to it.
    if shares_user_namespace(pid):
        return "" if is_trusted(process_mount) else USERS_PROGRAM
    if trusts_mounts_of(pid):
        return ""
    if process_mount.kind.startswith(SERVED_BY_A_PROGRAM):
        return USERS_PROGRAM
    if (
        process_mount.kind not in _OVER_OTHERS
        or _is_mounted_by_root(process_mount.device)
        or _no_user_serves()
    ):
        return ""
    return OVERLAY


def shares_user_namespace(pid: int) -> bool:
    """Whether a process lives in the gateway's user namespace; False if unknown."""
    try:
        theirs, ours = os.stat(f"/proc/{pid}/ns/user"), os.stat("/proc/self/ns/user")  # noqa: PTH116 - Path is dearer
    except OSError:
        return False
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)


def trusts_mounts_of(pid: int) -> bool:
    """Whether root or the gateway's own user made every mount that a process sees; False if unknown.

    In a user namespace every user mounts; one that root created may serve others (a container's). The gateway's own
    user can stop the gateway anyway: `fleetprof up` without root over rootless containers.
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
    """Whether the kernel serves it, or a program of root or of the gateway's user; ids of the gateway's namespace."""
    if not mount.kind.startswith(SERVED_BY_A_PROGRAM):
        return True
    return any(f"user_id={user}".encode() in mount.options.split(b",") for user in (0, os.geteuid()))


def _is_mounted_by_root(device: Device) -> bool:
    """Whether the machine's root mounted an overlay, in the gateway's namespace or in that of process 1.

    That includes overlays of containers that root's engine puts in a user namespace. The device number is unique.
    """
    return device in own_devices() or (shares_user_namespace(_INIT) and device in devices_of(_INIT))


def _no_user_serves() -> bool:
    """Whether, in every namespace, only root and the gateway's own user serve file systems by programs.

    Each such file system has a folder, owned by its user, as long as anything lies over it
    (Documentation/filesystems/fuse.rst).
    """
    mounts = own_mounts().values()
    if not any(mount.kind == b"fusectl" and mount.point == _FUSE_CONNECTIONS.encode() for mount in mounts):
        # A kernel without FUSE has no such folder.
        return not os.path.exists(_FUSE_CONNECTIONS) and os.path.exists("/sys/fs")  # noqa: PTH110
    try:
        with os.scandir(_FUSE_CONNECTIONS) as entries:
            return all(entry.stat(follow_symlinks=False).st_uid in {0, os.geteuid()} for entry in entries)
    except OSError:
        return False


def _device(descriptor: int) -> Device | None:
    """The device of an open file, without a request to its file system; None: no statx(2) here."""
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
    """The device of the memory files of all processes."""
    try:
        memory = os.memfd_create("fleetprof")
    except OSError:
        return None
    try:
        return _device(memory)
    finally:
        os.close(memory)
