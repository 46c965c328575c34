"""This machine's copies of remote files: a folder with a size limit and least-recently-used eviction.

    FOLDER/NAME            complete and verified; the caller chooses NAME
           .unfinished-…   of a download in progress, or of a killed one: removed when hours old,
                           as is any other name with a dot
           .lock-NN        held by the process that fetches a name of that bucket, so that each is fetched once

A removed file stays valid for processes that have it open.
"""

import fcntl
import os
import re
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from symbolizer.files import OpenedFile

DEFAULT_LIMIT_BYTES: Final = 20 << 30
_NAME: Final = re.compile(r"[0-9a-z][0-9a-z._-]{0,199}")
_UNFINISHED: Final = ".unfinished-"
_LOCK: Final = ".lock-"
_UNFINISHED_LIFETIME_S: Final = 6 * 3600.0
_BUCKETS: Final = 64


def no_copy(what: str, error: OSError) -> str:
    """The reason for a full or read-only folder: frames lose their names, and captures are ingested all the same."""
    return f"This worker cannot store a copy of {what}: {error.strerror or error}."


class DownloadFolder:
    """The folder; processes may share the folder, and threads an instance."""

    def __init__(self, folder: Path, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """The folder is created on the first write, with access for this user only."""
        self._folder = folder
        self._limit_bytes = limit_bytes

    def open(self, name: str) -> OpenedFile | None:
        """The file if it is in the folder; marks it as used."""
        try:
            opened = OpenedFile(self._path(name))
        except OSError:
            return None
        with suppress(OSError):  # a read-only folder
            os.utime(opened.descriptor)
        return opened

    def obtain(self, name: str, fetch: Callable[[Path], None]) -> OpenedFile:
        """The file; if it is missing, `fetch` writes it to the path it receives, once for all concurrent callers.

        An exception of `fetch` is raised to its caller, and nothing is stored. Raises OSError.
        """
        if (here := self.open(name)) is not None:
            return here
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock(name):
            if (here := self.open(name)) is not None:
                return here
            self._discard_unfinished()  # first: files of many killed workers may have filled the disk
            descriptor, temporary = tempfile.mkstemp(prefix=_UNFINISHED, dir=self._folder)
            os.close(descriptor)
            unfinished = Path(temporary)
            opened: OpenedFile | None = None
            try:
                fetch(unfinished)
                opened = OpenedFile(unfinished)
                unfinished.replace(self._path(name))
            except BaseException:
                if opened is not None:
                    opened.close()
                with suppress(OSError):  # if the cleanup fails too, the first error is raised
                    unfinished.unlink(missing_ok=True)
                raise
            opened.path = self._path(name)
        with suppress(OSError):  # the file is available all the same
            self._shrink(opened.path)
        return opened

    def drop(self, name: str) -> None:
        """Remove a file that proved unusable."""
        with suppress(OSError):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ValueError(f"not the name of a download: {name[:80]!r}")
        return self._folder / name

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        bucket = zlib.crc32(name.encode()) % _BUCKETS
        with (self._folder / f"{_LOCK}{bucket:02}").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _discard_unfinished(self) -> None:
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") and not entry.name.startswith(_LOCK):
                    with suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_mtime < time.time() - _UNFINISHED_LIFETIME_S:
                            os.unlink(entry.path)  # noqa: PTH108 - of scandir

    def _shrink(self, newest: Path) -> None:
        """Remove files beyond the limit, but never the newest: a file above the limit may still be used."""
        files: list[tuple[float, int, Path]] = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(".") and entry.path != str(newest):
                        files.append((status.st_mtime, status.st_size, Path(entry.path)))
        files.sort(reverse=True)
        with suppress(OSError):
            room = self._limit_bytes - newest.stat().st_size
            for _, size, path in files:
                room -= size
                if room < 0:
                    path.unlink(missing_ok=True)
