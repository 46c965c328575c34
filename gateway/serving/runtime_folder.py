"""The folder of this daemon's inner sockets, and the rests of daemons that were killed."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX: Final = "fleetprof-gateway-"
_LOCK: Final = "owner.lock"

_log: Final = logging.getLogger("gateway.runtime_folder")


@contextlib.contextmanager
def runtime_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder for us alone, removed at the end; those of our user whose daemons are dead go first.

    A lock says who lives: it is held by the daemon and its server and released by the kernel, however they end.
    """
    parent = parent or Path(tempfile.gettempdir())
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    # It has its name only once it is locked, so that nobody who sweeps meanwhile finds it free.
    lock = os.open(folder / "new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new").rename(folder / _LOCK)
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove our user's folders that nobody holds; whatever is in doubt stays."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_abandoned(folder):
                shutil.rmtree(folder)
                _log.info("removed what a killed daemon left", extra={"fields": {"folder": folder}})


def _is_abandoned(folder: Path) -> bool:
    """A folder of ours, no link to one, whose lock is free. One without a lock is being made."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        return False
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
