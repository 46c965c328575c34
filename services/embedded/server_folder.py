"""A server's folder: created if missing, used by one process at a time, with a path short enough for sockets."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.errors import CannotStart

_LONGEST_SOCKET_PATH = 107
"""Bytes that fit in sockaddr_un.sun_path with the terminating zero."""
_LONGEST_LOG = 16 << 20


def make_folder(path: Path) -> None:
    """Make the folder and its missing parents, for this user only.

    Other users may pass through root's folders, whatever the umask: the server's user has a folder inside.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            path.chmod(0o711)
    except OSError as error:
        raise CannotStart(
            f"Cannot create the state directory {path}: {error.strerror}. Set FLEETPROF_STATE_DIR to another folder."
        ) from error


def check_socket(path: str) -> None:
    """Raises `CannotStart` if the path is too long for a socket."""
    over = len(os.fsencode(path)) - _LONGEST_SOCKET_PATH
    if over > 0:
        raise CannotStart(
            f"The path of the socket {path} is {over} bytes too long for the kernel: "
            "set FLEETPROF_STATE_DIR to a shorter path."
        )


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes from starting or stopping the folder's server inside the block."""
    try:
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise CannotStart(
            f"Cannot write to {folder}: {error.strerror}. Run as its owner, or set FLEETPROF_STATE_DIR."
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def rotate_long_log(log: Path) -> None:
    """Rename a log over 16 MiB to `.1` and begin a new one."""
    if log.exists() and log.stat().st_size > _LONGEST_LOG:
        log.rename(log.with_name(f"{log.name}.1"))
