"""Where blobs lie: raw captures, debug files and what is built from them, each written once and never changed.

A blob is there whole or not at all: a directory's blobs are written under a temporary name, synced
and renamed; an object store's with one put. Order of the writers: blob first, then its row, so a row
never points at nothing and a crash leaves at worst an orphan (`storage.captures.sweep_orphans`,
`storage.symbols.symbol_blobs.sweep`).
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
"""Default limit of `Archive.get`; callers that know better pass a smaller one."""

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
    """Blobs by key, in a directory (`/path`, `file:///path`) or whatever fsspec reaches (`s3://…`).

    Keys are relative paths of letters, digits, `.`, `_` and `-`; no part begins with a dot. Opens
    nothing until it is used. Every failure is an `ArchiveError`.
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
        """Store the blob; once this returns it survives a power cut. The same key twice: the last."""
        self._store.put(_checked(key), [data])

    def put_chunks(self, key: str, chunks: Iterable[bytes]) -> int:
        """Store what the chunks make together, as `put` does; its bytes. No more than a few are in memory.

        What `chunks` raises is raised, and nothing is stored.
        """
        return self._store.put(_checked(key), chunks)

    def get(self, key: str, *, limit: int = MAX_BLOB_BYTES) -> bytes:
        """The blob's bytes. Raises `BlobMissing`, or `BlobTooLarge` before reading over `limit` bytes."""
        return b"".join(self._store.chunks(_checked(key), limit))

    def chunks(self, key: str, *, limit: int = MAX_BLOB_BYTES) -> Iterator[bytes]:
        """The blob's bytes in parts of a mebibyte or less; raises what `get` does, when it is iterated."""
        return self._store.chunks(_checked(key), limit)

    def size(self, key: str) -> int:
        """Bytes of the blob. Raises `BlobMissing`."""
        return self._store.size(_checked(key))

    def keys(self, prefix: str = "") -> Iterator[tuple[str, datetime]]:
        """Every blob below the folder `prefix`, with the time it was written; in no order."""
        return self._store.keys(_checked(prefix) if prefix else "")

    def delete(self, key: str) -> None:
        """Remove the blob; one that is not there is removed already."""
        self._store.delete(_checked(key))

    def discard_unfinished(self, before: datetime) -> int:
        """Remove what writers killed before `before` left half-written; the number removed."""
        return self._store.discard_unfinished(before)


def capture_key(day: date, visit_id: UUID) -> str:
    """Where a visit's capture lies; the two hex digits keep folders of a big fleet's day small."""
    return f"captures/{day.isoformat()}/{visit_id.hex[:2]}/{visit_id}.cap.zst"


def visit_of(key: str) -> UUID | None:
    """The visit whose capture lies under this key; None: not a capture's key."""
    match = _CAPTURE.fullmatch(key)
    if match is None:
        return None
    with suppress(ValueError):
        return UUID(match[1])
    return None


def _checked(key: str) -> str:
    if len(key) > 512 or not _KEY.fullmatch(key):
        raise ValueError(f"not a key of the archive: {key[:80]!r}")
    return key
