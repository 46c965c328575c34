"""Blobs in an object store that fsspec supports; puts are atomic and durable."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import fsspec

from storage.errors import ArchiveUnavailable, BlobMissing, BlobTooLarge, StorageError

CHUNK_BYTES = 1 << 20
_ONE_PUT = 32 << 20
"""Blobs up to this size are sent from memory, larger ones from a temporary file in parts."""


class BlobBucket:
    """An `Archive` store; keys are names below the URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[Any, str] | None = None

    def put(self, key: str, chunks: Iterable[bytes]) -> int:
        """Send all chunks as one object; return the bytes sent.

        Sending starts only after the last chunk is produced: some of fsspec's file systems keep a partial object
        after an error.
        """
        with tempfile.SpooledTemporaryFile(max_size=_ONE_PUT) as spool:
            for chunk in chunks:
                spool.write(chunk)
            size = spool.tell()
            spool.seek(0)
            if size <= _ONE_PUT:
                data = spool.read()
                with self._errors(key):
                    system, root = self._open()
                    system.pipe_file(f"{root}/{key}", data)
                return size
            spool.rollover()
            spool.flush()
            with self._errors(key):
                system, root = self._open()
                system.put_file(f"/proc/self/fd/{spool.fileno()}", f"{root}/{key}")
        return size

    def chunks(self, key: str, limit: int) -> Iterator[bytes]:
        """The object in parts of a mebibyte."""
        size = self.size(key)
        if size > limit:
            raise BlobTooLarge(f"{key} has {size} bytes; the limit is {limit}.")
        with self._errors(key):
            system, root = self._open()
            if size <= CHUNK_BYTES:  # one request, as for most captures
                whole = bytes(system.cat_file(f"{root}/{key}"))
        if size <= CHUNK_BYTES:
            yield whole
            return
        with self._errors(key):
            file = system.open(f"{root}/{key}", "rb")
        with file:
            while True:
                with self._errors(key):
                    chunk = bytes(file.read(CHUNK_BYTES))
                if not chunk:
                    return
                yield chunk

    def size(self, key: str) -> int:
        """Size of the object in bytes."""
        with self._errors(key):
            system, root = self._open()
            return int(system.info(f"{root}/{key}")["size"])

    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        """All objects below `prefix` with their write times."""
        with self._errors(prefix):
            system, root = self._open()
            system.invalidate_cache()
            found = system.find(f"{root}/{prefix}".rstrip("/"), detail=True)
        for path, entry in found.items():
            yield str(path).removeprefix(f"{root}/"), self._written(system, path, entry)

    def delete(self, key: str) -> None:
        """Delete the object if it exists."""
        with suppress(BlobMissing), self._errors(key):
            system, root = self._open()
            system.rm_file(f"{root}/{key}")

    def discard_unfinished(self, before: datetime) -> int:  # noqa: ARG002 - nothing half-written is visible there
        """Do nothing."""
        return 0

    def _written(self, system: Any, path: str, entry: dict[str, Any]) -> datetime:
        """The write time; fsspec's file systems differ in its name and type."""
        listed = entry.get("LastModified") or entry.get("mtime") or entry.get("created")
        if isinstance(listed, int | float):
            return datetime.fromtimestamp(listed, UTC)
        if not isinstance(listed, datetime):
            with self._errors(path):
                listed = system.modified(path)
        return cast("datetime", listed).astimezone(UTC)

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            system, root = fsspec.core.url_to_fs(self._url)
            self._opened = system, str(root).rstrip("/")
        return self._opened

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Translate fsspec errors to `ArchiveError`."""
        try:
            yield
        except FileNotFoundError as error:
            raise BlobMissing(f"The archive {self._url} does not contain {key}.") from error
        except StorageError:
            raise
        except Exception as error:
            # Each fsspec implementation has its own errors; there is no common base class.
            raise ArchiveUnavailable(f"The archive {without_secrets(self._url)} failed: {error}") from error


def without_secrets(archive: str) -> str:
    """An archive's URL for display, with credentials and query hidden."""
    parts = urlsplit(archive)
    if not (parts.scheme and parts.netloc):
        return archive
    host = f"***@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, host, parts.path, "***" if parts.query else "", ""))
