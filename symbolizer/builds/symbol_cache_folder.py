"""This machine's files of built symbols: a folder with a size limit and least-recently-used eviction.

    FOLDER/built/ab/abcdef….built      by the SHA-256 of the content, renamed into place when complete
           built/.unfinished-…         of a builder or a download; removed when hours old

Processes share the folder without a lock. A removed file stays valid for processes that have it open; a file
removed just before it is opened is a miss, which callers must expect at any time.
"""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from symbolizer.builds.built_symbols import BuiltSymbols, open_built_symbols
from symbolizer.errors import MalformedSymCache

DEFAULT_LIMIT_BYTES: Final = 20 << 30
_ENDING: Final = ".built"
_UNFINISHED: Final = ".unfinished-"
_UNFINISHED_LIFETIME_S: Final = 4 * 3600.0
"""Longer than any build or download may take."""


class SymbolCacheFolder:
    """The folder; all access to its files goes through this class."""

    def __init__(self, folder: Path, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """The folder is created on the first write, with access for this user only."""
        self._folder = folder / "built"
        self._limit_bytes = limit_bytes

    def open(self, sha256: bytes) -> BuiltSymbols | None:
        """The symbols with that content, mapped; None: not in the folder, or damaged and now removed."""
        try:
            with self._path(sha256).open("rb") as file:
                opened = open_built_symbols(file)
                with suppress(OSError):  # a read-only folder, which this process does not shrink either
                    os.utime(file.fileno())
                return opened
        except FileNotFoundError:
            return None
        except (OSError, MalformedSymCache):
            self.drop(sha256)
            return None

    def new_file(self) -> Path:
        """An empty file to write to, for `keep`. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=self._folder)
        os.close(descriptor)
        return Path(name)

    def keep(self, finished: Path, sha256: bytes) -> None:
        """Move a complete file with that content into the folder, durably. Raises OSError."""
        with finished.open("rb") as file:
            os.fsync(file.fileno())  # else a power cut may leave a file of zeros under the final name
            size = os.fstat(file.fileno()).st_size
        path = self._path(sha256)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        finished.replace(path)
        self._shrink(path, size)

    def drop(self, sha256: bytes) -> None:
        """Remove a file that proved damaged; it is gone on return."""
        with suppress(OSError):
            self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: bytes) -> Path:
        name = sha256.hex()
        return self._folder / name[:2] / f"{name}{_ENDING}"

    def _shrink(self, newest: Path, size: int) -> None:
        """Remove files beyond the limit, but never the newest: a file above the limit may still be used."""
        files: list[tuple[float, int, Path]] = []
        for path in self._folder.rglob("*"):
            with suppress(OSError):
                status = path.stat()
                if path.name.startswith("."):
                    if status.st_mtime < time.time() - _UNFINISHED_LIFETIME_S:
                        path.unlink()
                elif path.suffix == _ENDING and path != newest:
                    files.append((status.st_mtime, status.st_size, path))
        files.sort(reverse=True)
        room = self._limit_bytes - size
        for _, bytes_, path in files:
            room -= bytes_
            if room < 0:
                with suppress(OSError):
                    path.unlink()
