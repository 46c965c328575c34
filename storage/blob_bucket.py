"""Blobs in an object store that fsspec reaches: a put is atomic and durable, or failed."""

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
"""A blob up to this size is sent from memory, a larger one from a temporary file, in parts."""


class BlobBucket:
    """One of the places an `Archive` may be; keys are names below the URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[Any, str] | None = None

    def put(self, key: str, chunks: Iterable[bytes]) -> int:
        """Send all chunks as one object; the bytes sent.

        Nothing is sent before the last chunk was made: of an object written piece by piece some of
        fsspec's file systems keep what had come before an error.
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
            raise BlobTooLarge(f"{key} has {size} bytes, more than the {limit} accepted.")
        with self._errors(key):
            system, root = self._open()
            if size <= CHUNK_BYTES:  # one request, like most captures
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
        """Bytes of the object."""
        with self._errors(key):
            system, root = self._open()
            return int(system.info(f"{root}/{key}")["size"])

    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        """Every object below `prefix` and the time it was written."""
        with self._errors(prefix):
            system, root = self._open()
            system.invalidate_cache()
            found = system.find(f"{root}/{prefix}".rstrip("/"), detail=True)
        for path, entry in found.items():
            yield str(path).removeprefix(f"{root}/"), self._written(system, path, entry)

    def delete(self, key: str) -> None:
        """Remove the object if it is there."""
        with suppress(BlobMissing), self._errors(key):
            system, root = self._open()
            system.rm_file(f"{root}/{key}")

    def discard_unfinished(self, before: datetime) -> int:  # noqa: ARG002 - nothing half-written is visible there
        """Nothing to do."""
        return 0

    def _written(self, system: Any, path: str, entry: dict[str, Any]) -> datetime:
        """Time of writing: each file system of fsspec lists it under a name and type of its own."""
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
        """Whatever a file system of fsspec raises becomes an `ArchiveError`."""
        try:
            yield
        except FileNotFoundError as error:
            raise BlobMissing(f"The archive {self._url} has no {key}.") from error
        except StorageError:
            raise
        except Exception as error:
            # Each fsspec implementation has errors of its own; there is no common base class.
            raise ArchiveUnavailable(f"The archive {without_secrets(self._url)} failed: {error}") from error


def without_secrets(archive: str) -> str:
    """An archive's URL to be printed: what stands before @ in its host, and its query, hidden."""
    parts = urlsplit(archive)
    if not (parts.scheme and parts.netloc):
        return archive
    host = f"***@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
    return urlunsplit((parts.scheme, host, parts.path, "***" if parts.query else "", ""))
