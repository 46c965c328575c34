"""Access to the lake's files, in a folder or any storage that fsspec supports.

Files appear atomically and never change: a later export of the same day writes files with other names
(`storage.segments.manifest` lists the current ones).
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import fsspec

from storage.blob_bucket import BlobBucket
from storage.blob_directory import BlobDirectory
from storage.errors import ArchiveError, BlobMissing
from storage.segments.errors import LakeBusy, LakeDamaged, LakeUnavailable

_LONGEST_MANIFEST = 16 << 20
_LARGEST_FILE = 1 << 40
_UNREADABLE = frozenset("*?[]{}\\'\"\0\n\r")
"""DuckDB and Spark interpret the first of these as patterns in a path, and have no syntax to escape them."""


class Lake:
    """Files by key below a URL: `/path`, `file:///path`, `s3://bucket/prefix` …; nothing is opened before first use.

    Raises `LakeUnavailable` for a URL that Parquet readers would misread, and for every failure below.
    """

    def __init__(self, url: str) -> None:
        scheme, separator, rest = url.partition("://")
        self.url = url
        self.local = not separator or scheme in {"file", "local"}
        if not url or _UNREADABLE & set(url):
            raise LakeUnavailable(
                f"Invalid lake location {url!r}: readers of Parquet interpret * ? [ ] {{ }}, quotes and "
                "backslashes in a path as a pattern."
            )
        self._root = str(Path(rest if separator else url).absolute()) if self.local else url.rstrip("/")
        self._store = BlobDirectory(Path(self._root)) if self.local else BlobBucket(self._root)

    @property
    def root(self) -> str:
        """The absolute folder, or the URL without a trailing slash."""
        return self._root

    def path(self, key: str) -> str:
        """A file's path for Parquet readers."""
        return f"{self._root}/{key}"

    def file_system(self) -> Any | None:
        """Fsspec's file system for readers that do not support the URL's scheme; None: a local folder."""
        return None if self.local else fsspec.core.url_to_fs(self._root)[0]

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Write a file; it survives a power failure once this returns."""
        with self._errors():
            self._store.put(key, [bytes(data)])

    def text(self, key: str) -> str | None:
        """A small text file; None: missing. Raises `LakeDamaged` if it is not text."""
        try:
            with self._errors():
                return b"".join(self._store.chunks(key, _LONGEST_MANIFEST)).decode()
        except BlobMissing:
            return None
        except UnicodeDecodeError as error:
            raise LakeDamaged(f"{self.path(key)} is not text.") from error

    def digest(self, key: str, stopping: Callable[[], bool] = lambda: False) -> tuple[int, str] | None:
        """Size and hex SHA-256 of a file, read in full; None: missing. Raises `LakeBusy` if stopped."""
        size, digest = 0, hashlib.sha256()
        try:
            with self._errors():
                for chunk in self._store.chunks(key, _LARGEST_FILE):
                    if stopping():
                        raise LakeBusy("The check of a day was cancelled.")
                    size += len(chunk)
                    digest.update(chunk)
        except BlobMissing:
            return None
        return size, digest.hexdigest()

    def keys(self, prefix: str) -> list[str]:
        """All files below a folder, sorted."""
        with self._errors():
            try:
                return sorted(key for key, _ in self._store.keys(prefix))
            except BlobMissing:
                return []

    def delete(self, key: str) -> None:
        """Delete a file if it exists."""
        with self._errors():
            self._store.delete(key)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BlobMissing:
            raise
        except ArchiveError as error:
            raise LakeUnavailable(str(error).replace("The archive", "The lake", 1)) from error


def folder_of(table: str, day: date) -> str:
    """The folder of a table's files of a day, in the partition layout of Hive, Spark and DuckDB."""
    return f"{table}/day={day.isoformat()}"
