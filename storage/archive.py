"""Where blobs lie: raw captures and debug files, each written once and never changed.

A blob is there whole or not at all: a directory's blobs are written under a temporary name, synced
and renamed; an object store's with one put. Order of the writers: blob first, then its row, so a row
never points at nothing and a crash leaves at worst an orphan (`storage.captures.sweep_orphans`).
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol, cast
from uuid import UUID, uuid4

import fsspec

from storage.errors import ArchiveUnavailable, BlobMissing, BlobTooLarge, StorageError

MAX_BLOB_BYTES = 1 << 30
"""Default limit of `Archive.get`; callers that know better pass a smaller one."""

_KEY = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*")
_CAPTURE = re.compile(r"captures/\d{4}-\d\d-\d\d/[0-9a-f]{2}/([0-9a-f-]{36})\.cap\.zst")
_UNFINISHED = ".unfinished-"


class _Store(Protocol):
    def put(self, key: str, data: bytes) -> None: ...
    def get(self, key: str, limit: int) -> bytes: ...
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
            _Directory(Path(rest if separator else url))
            if not separator or scheme in {"file", "local"}
            else _Remote(url)
        )

    def put(self, key: str, data: bytes) -> None:
        """Store the blob; once this returns it survives a power cut. The same key twice: the last."""
        self._store.put(_checked(key), data)

    def get(self, key: str, *, limit: int = MAX_BLOB_BYTES) -> bytes:
        """The blob's bytes. Raises `BlobMissing`, or `BlobTooLarge` before reading over `limit` bytes."""
        return self._store.get(_checked(key), limit)

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


class _Directory:
    """A directory on a local or network file system that honours fsync and rename."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, data: bytes) -> None:
        path = self._root / key
        temporary = path.parent / f"{_UNFINISHED}{uuid4().hex}"
        try:
            self._make_folder(path.parent)
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.rename(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            _sync_folder(path.parent)
        except OSError as error:
            raise ArchiveUnavailable(
                f"The archive {self._root} cannot be written: {error.strerror}."
            ) from error

    def get(self, key: str, limit: int) -> bytes:
        try:
            with (self._root / key).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > limit:
                    raise BlobTooLarge(f"{key} has {size} bytes, more than the {limit} accepted.")
                return file.read(limit)
        except FileNotFoundError as error:
            raise BlobMissing(f"The archive has no {key}.") from error
        except OSError as error:
            raise ArchiveUnavailable(f"The archive {self._root} cannot be read: {error.strerror}.") from error

    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        for path in self._files(self._root / prefix):
            if not path.name.startswith("."):
                with suppress(FileNotFoundError):
                    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    yield path.relative_to(self._root).as_posix(), written

    def delete(self, key: str) -> None:
        try:
            (self._root / key).unlink(missing_ok=True)
        except OSError as error:
            raise ArchiveUnavailable(
                f"The archive {self._root} cannot be written: {error.strerror}."
            ) from error

    def discard_unfinished(self, before: datetime) -> int:
        removed = 0
        for path in self._files(self._root):
            if path.name.startswith(_UNFINISHED):
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before.timestamp():
                        path.unlink()
                        removed += 1
        return removed

    def _files(self, folder: Path) -> Iterator[Path]:
        for parent, _, names in os.walk(folder):
            for name in names:
                yield Path(parent, name)

    def _make_folder(self, folder: Path) -> None:
        """Make the folder and those above it, each durably, readable by this user only."""
        if folder.is_dir():
            return
        if folder.parent != folder:
            self._make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Remote:
    """An object store: a put is atomic and durable, or failed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[Any, str] | None = None

    def put(self, key: str, data: bytes) -> None:
        with _remote_errors(self._url, key):
            system, root = self._open()
            system.pipe_file(f"{root}/{key}", data)

    def get(self, key: str, limit: int) -> bytes:
        with _remote_errors(self._url, key):
            system, root = self._open()
            path = f"{root}/{key}"
            size = int(system.info(path)["size"])
            if size > limit:
                raise BlobTooLarge(f"{key} has {size} bytes, more than the {limit} accepted.")
            return bytes(system.cat_file(path))

    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        with _remote_errors(self._url, prefix):
            system, root = self._open()
            system.invalidate_cache()
            found = system.find(f"{root}/{prefix}".rstrip("/"), detail=True)
        for path, entry in found.items():
            yield str(path).removeprefix(f"{root}/"), self._written(system, path, entry)

    def delete(self, key: str) -> None:
        with suppress(BlobMissing), _remote_errors(self._url, key):
            system, root = self._open()
            system.rm_file(f"{root}/{key}")

    def discard_unfinished(self, before: datetime) -> int:  # noqa: ARG002 - nothing half-written is visible there
        return 0

    def _written(self, system: Any, path: str, entry: dict[str, Any]) -> datetime:
        """Time of writing: each file system of fsspec lists it under a name and type of its own."""
        listed = entry.get("LastModified") or entry.get("mtime") or entry.get("created")
        if isinstance(listed, int | float):
            return datetime.fromtimestamp(listed, UTC)
        if not isinstance(listed, datetime):
            with _remote_errors(self._url, path):
                listed = system.modified(path)
        return cast("datetime", listed).astimezone(UTC)

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            system, root = fsspec.core.url_to_fs(self._url)
            self._opened = system, str(root).rstrip("/")
        return self._opened


class _remote_errors:  # noqa: N801 - reads as a statement
    """Whatever a file system of fsspec raises becomes an `ArchiveError`."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise BlobMissing(f"The archive {self._url} has no {self._key}.") from error
        if isinstance(error, Exception) and not isinstance(error, StorageError):
            # Each fsspec implementation has errors of its own; there is no common base class.
            raise ArchiveUnavailable(f"The archive {self._url} failed: {error}") from error
