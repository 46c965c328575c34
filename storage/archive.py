"""The archive of blobs: raw captures, debug files and files built from them, each written once and never changed.

Blobs appear atomically: in a directory they are written under a temporary name, synced and renamed; in an object
store by one put. Writers store the blob first, then its row. So a row never refers to a missing blob, and a crash
leaves at worst an orphan (`storage.captures.sweep_orphans`, `storage.symbols.symbol_blobs.sweep`).
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

from storage.blob_bucket import BlobBucket
from storage.blob_directory import BlobDirectory

MAX_BLOB_BYTES = 1 << 30
"""Default limit of `Archive.get`; callers may pass a smaller one."""

_KEY = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*")
_CAPTURE = re.compile(r"captures/\d{4}-\d\d-\d\d/[0-9a-f]{2}/([0-9a-f-]{36})\.cap\.zst")


class _Store(Protocol):
    def put(self, key: str, chunks: Iterable[bytes]) -> int: ...
    def chunks(self, key: str, limit: int) -> Iterator[bytes]: ...
    def size(self, key: str) -> int: ...
    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]: ...
    def delete(self, key: str) -> None: ...
    def discard_unfinished(self, before: datetime) -> int: ...


class Archive:
    """Blobs by key, in a directory (`/path`, `file:///path`) or any storage that fsspec supports (`s3://…`).

    Keys are relative paths of letters, digits, `.`, `_` and `-`; no part begins with a dot. Nothing is opened before
    first use. Every failure is an `ArchiveError`.
    """

    def __init__(self, url: str) -> None:
        scheme, separator, rest = url.partition("://")
        self.url = url
        self._store: _Store = (
            BlobDirectory(Path(rest if separator else url))
            if not separator or scheme in {"file", "local"}
            else BlobBucket(url)
        )

    def put(self, key: str, data: bytes) -> None:
        """Store the blob, replacing one with the same key; it survives a power failure once this returns."""
        self._store.put(_checked(key), [data])

    def put_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        """Store the concatenated chunks like `put`; return their size. Only a few chunks are in memory at a time.

        An exception from `chunks` is passed on, and nothing is stored.
        """
        return self._store.put(_checked(key), chunks)

    def get(self, key: str, *, limit: int = MAX_BLOB_BYTES) -> bytes:
        """The blob's bytes. Raises `BlobMissing`, or `BlobTooLarge` before reading over `limit` bytes."""
        return b"".join(self._store.chunks(_checked(key), limit))

    def chunks(self, key: str, *, limit: int = MAX_BLOB_BYTES) -> Iterator[bytes]:
        """The blob's bytes in parts of at most a mebibyte; raises like `get`, during iteration."""
        return self._store.chunks(_checked(key), limit)

    def size(self, key: str) -> int:
        """Size of the blob in bytes. Raises `BlobMissing`."""
        return self._store.size(_checked(key))

    def keys(self, prefix: str = "") -> Iterator[tuple[str, datetime]]:
        """All blobs below the folder `prefix` with their write times, in no particular order."""
        return self._store.keys(_checked(prefix) if prefix else "")

    def delete(self, key: str) -> None:
        """Delete the blob if it exists."""
        self._store.delete(_checked(key))

    def discard_unfinished(self, before: datetime) -> int:
        """Delete unfinished files that were begun before `before`; return their number."""
        return self._store.discard_unfinished(before)


def capture_key(day: date, visit_id: UUID) -> str:
    """The key of a visit's capture; two hex digits keep the folders of a large fleet's day small."""
    return f"captures/{day.isoformat()}/{visit_id.hex[:2]}/{visit_id}.cap.zst"


def visit_of(key: str) -> UUID | None:
    """The visit whose capture has this key; None: not a capture's key."""
    match = _CAPTURE.fullmatch(key)
    if match is None:
        return None
    with suppress(ValueError):
        return UUID(match[1])
    return None


def _checked(key: str) -> str:
    if len(key) > 512 or not _KEY.fullmatch(key):
        raise ValueError(f"Invalid archive key: {key[:80]!r}")
    return key
