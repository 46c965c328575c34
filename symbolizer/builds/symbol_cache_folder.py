"""This machine's files of built symbols: a folder with a limit, where the least recently used give way.

    FOLDER/built/ab/abcdef….built      by the SHA-256 of the content, renamed into place when whole
           built/.unfinished-…         of a builder or a download; removed when hours old

Processes share it without a lock. A file that somebody has opened stays valid for him when it is
removed; one that is removed just before somebody opens it is a miss, which it may be at any time.
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
    """The folder, and the only way to its files."""

    def __init__(self, folder: Path, *, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """Created when first written to, readable by this user only."""
        self._folder = folder / "built"
        self._limit_bytes = limit_bytes

    def open(self, sha256: bytes) -> BuiltSymbols | None:
        """The symbols with that content, mapped; None: they are not here, or were damaged and are removed."""
        try:
            with self._path(sha256).open("rb") as file:
                opened = open_built_symbols(file)
                with suppress(OSError):  # a folder that may only be read; then it is nobody's to shrink
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
        """Take a whole file with that content into the folder, durably. Raises OSError."""
        with finished.open("rb") as file:
            os.fsync(file.fileno())  # else a power cut leaves a file of zeros under a whole one's name
            size = os.fstat(file.fileno()).st_size
        path = self._path(sha256)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        finished.replace(path)
        self._shrink(path, size)

    def drop(self, sha256: bytes) -> None:
        """Remove a file that proved damaged; it is gone when this returns."""
        with suppress(OSError):
            self._path(sha256).unlink(missing_ok=True)

    def _path(self, sha256: bytes) -> Path:
        name = sha256.hex()
        return self._folder / name[:2] / f"{name}{_ENDING}"

    def _shrink(self, newest: Path, size: int) -> None:
        """Remove what exceeds the limit, but never the newest: what is larger than all may still be used."""
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
