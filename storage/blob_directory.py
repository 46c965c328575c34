"""Blobs in a directory on a local or network file system that honours fsync and rename."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from uuid import uuid4

from storage.errors import ArchiveUnavailable, BlobMissing, BlobTooLarge

CHUNK_BYTES = 1 << 20
_UNFINISHED = ".unfinished-"


class BlobDirectory:
    """An `Archive` store; keys are paths below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, chunks: Iterable[bytes]) -> int:
        """Write all chunks under a temporary name, sync, rename; return the bytes written."""
        path = self._root / key
        temporary = path.parent / f"{_UNFINISHED}{uuid4().hex}"
        with self._writing():
            self._make_folder(path.parent)
            # Unbuffered: on a full disk, close would retry the buffered write and raise an OSError.
            file = temporary.open("xb", buffering=0)
        try:
            with file:
                for chunk in chunks:  # errors of the iterator are not archive errors
                    with self._writing():
                        _write(file, chunk)
                with self._writing():
                    os.fsync(file.fileno())
                    size = os.fstat(file.fileno()).st_size
            with self._writing():
                temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        with self._writing():
            _sync_folder(path.parent)
        return size

    def chunks(self, key: str, limit: int) -> Iterator[bytes]:
        """The blob in parts of a mebibyte."""
        with self._reading(key):
            file = (self._root / key).open("rb")
        with file:
            with self._reading(key):
                size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise BlobTooLarge(f"{key} has {size} bytes; the limit is {limit}.")
            while True:
                with self._reading(key):
                    chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def size(self, key: str) -> int:
        """Size of the blob in bytes."""
        with self._reading(key):
            return (self._root / key).stat().st_size

    def keys(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        """All blobs below `prefix` with their write times."""
        for path in self._files(self._root / prefix):
            if not path.name.startswith("."):
                with suppress(FileNotFoundError):
                    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    yield path.relative_to(self._root).as_posix(), written

    def delete(self, key: str) -> None:
        """Delete the blob if it exists."""
        with self._writing():
            (self._root / key).unlink(missing_ok=True)

    def discard_unfinished(self, before: datetime) -> int:
        """Delete temporary files older than `before`; return their number."""
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
        """Create the folder and its parents durably, readable only by this user."""
        if folder.is_dir():
            return
        if folder.parent != folder:
            self._make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ArchiveUnavailable(
                f"Cannot write to the archive {self._root}: {error.strerror}."
            ) from error

    @contextmanager
    def _reading(self, key: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise BlobMissing(f"The archive does not contain {key}.") from error
        except OSError as error:
            raise ArchiveUnavailable(f"Cannot read the archive {self._root}: {error.strerror}.") from error


def _write(file: FileIO, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
