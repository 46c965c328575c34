"""The folder of this daemon's inner sockets, and removal of folders that killed daemons left."""

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
    """A private folder at `path`.

    The daemon and its server hold a lock in it, which the kernel releases however they end.
    """

    def __init__(self, parent: Path) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        self._lock = _locked(self.path)

    def restore(self) -> None:
        """Create the folder again if it was removed: /tmp is cleaned of old files, and a daemon waits for weeks.

        Raises OSError, also if another process has taken the name.
        """
        with contextlib.suppress(FileExistsError):
            self.path.mkdir(mode=0o700)
        if not _is_ours(self.path):
            raise FileExistsError(errno.EEXIST, "the folder no longer belongs to this daemon", str(self.path))
        if not (self.path / _LOCK).exists():
            before, self._lock = self._lock, _locked(self.path)
            os.close(before)

    def remove(self) -> None:
        """Remove the folder and its content."""
        os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)


@contextlib.contextmanager
def runtime_folder(parent: Path | None = None) -> Iterator[RuntimeFolder]:
    """A new folder, removed at the end; folders of this user's dead daemons are removed first."""
    parent = parent or Path(tempfile.gettempdir())
    sweep(parent)
    folder = RuntimeFolder(parent)
    try:
        yield folder
    finally:
        folder.remove()


def sweep(parent: Path) -> None:
    """Remove this user's folders whose lock is free; a doubtful folder stays."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_abandoned(folder):
                shutil.rmtree(folder)
                _log.info("removed files of a killed daemon", extra={"fields": {"folder": folder}})


def _locked(folder: Path) -> int:
    """The descriptor of a new, held lock. It gets its name only when it is held, so a sweep never sees it free."""
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
    """Whether it is a folder of this user, not a link, and closed to others."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _is_abandoned(folder: Path) -> bool:
    """Whether a folder of ours has a free lock. A folder without a lock is being created."""
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
