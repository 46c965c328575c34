"""The folder of this daemon's inner sockets, and the rests of daemons that were killed."""

from __future__ import annotations

import contextlib
import errno
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


class RuntimeFolder:
    """A folder for us alone, at `path`.

    A lock says who lives: it is held by the daemon and its server and released by the kernel, however they end.
    """

    def __init__(self, parent: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        self._lock = _locked(self.path)

    def restore(self) -> None:
        """Make it anew where something removed it: /tmp is cleaned of what is old, and a daemon waits for weeks.

        Raises OSError, where somebody else has taken its name meanwhile too.
        """
        with contextlib.suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        if not _is_ours(self.path):
            raise FileExistsError(errno.EEXIST, "not this daemon's folder any more", str(self.path))
        if not (self.path / _LOCK).exists():
            before, self._lock = self._lock, _locked(self.path)
            os.close(before)

    def remove(self) -> None:
        """Remove it and what is in it."""
        os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)


@contextlib.contextmanager
def runtime_folder(parent: Path | None = None) -> Iterator[RuntimeFolder]:
    """A new folder, removed at the end; those of our user whose daemons are dead go first."""
    parent = parent or Path(tempfile.gettempdir())
    sweep(parent)
    folder = RuntimeFolder(parent)
    try:
        yield folder
    finally:
        folder.remove()


def sweep(parent: Path) -> None:
    """Remove our user's folders that nobody holds; whatever is in doubt stays."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_abandoned(folder):
                shutil.rmtree(folder)
                _log.info("removed what a killed daemon left", extra={"fields": {"folder": folder}})


def _locked(folder: Path) -> int:
    """The descriptor of a new lock in it, which has its name only once it is held: who sweeps finds none free."""
    new = folder / "new"
    new.unlink(missing_ok=True)
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        new.rename(folder / _LOCK)
    except OSError:
        os.close(lock)
        raise
    return lock


def _is_ours(folder: Path) -> bool:
    """A folder of our user and no link to one, which others cannot enter."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _is_abandoned(folder: Path) -> bool:
    """A folder of ours whose lock is free. One without a lock is being made."""
    if not _is_ours(folder):
        return False
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
