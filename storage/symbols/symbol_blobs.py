"""Content-addressed, compressed blobs of debug files, caches and sources in the archive.

A blob's name is the SHA-256 of its content, so a file that several binaries or uploaders share is stored once.
Files have gigabytes, so no function except `read_bytes` and `put_bytes` holds one in memory.

A writer that references a blob in a row holds the blob's lock (`hold`) and first checks that the blob exists.
The sweep holds the same lock while it deletes a blob and first checks that no row references it. So a concurrent
upload and sweep of the same content always see each other's effect.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Final, TypeVar, cast
from uuid import uuid4

import zstandard
from sqlalchemy import Connection, Engine, select, text

from storage.archive import Archive
from storage.captures import ORPHAN_GRACE
from storage.errors import BlobMissing, BlobTooLarge
from storage.schema import debug_file, source_file, symcache
from storage.symbols.errors import BlobDamaged, SymbolFileChanged, SymbolFileTooLarge, SymbolsError

FOLDER: Final = "symbols"
MAX_FILE_BYTES: Final = 16 << 30
"""Limit for one unpacked file; callers may pass a smaller one."""
_LEVEL: Final = 3
"""zstd level: a SymCache of 291 MB becomes 67 MB in 1 s; level 9 takes 6 s for 61 MB."""
_CHUNK: Final = 1 << 20
_KEY = re.compile(rf"{FOLDER}/[0-9a-f]{{2}}/([0-9a-f]{{64}})\.zst")
_LOCK: Final = 0x666C_7962
"""First key of the advisory lock; the second is the beginning of the SHA-256."""
_OWNERS: Final = (debug_file, source_file, symcache)
_BATCH: Final = 1000
_PUTS: Final = 5
"""How often a sweep may delete the blob during one `store`; each time its grace period must have passed again."""

Noted = TypeVar("Noted")


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob in the archive."""

    sha256: bytes
    """SHA-256 of the content; the blob's name."""
    bytes: int
    """Compressed size."""
    raw_bytes: int


def key_of(sha256: bytes) -> str:
    """The archive key of the blob with this content."""
    name = sha256.hex()
    return f"{FOLDER}/{name[:2]}/{name}.zst"


def content_of(key: str) -> bytes | None:
    """The SHA-256 in an archive key; None: the key is not a symbol blob's."""
    match = _KEY.fullmatch(key)
    return bytes.fromhex(match[1]) if match else None


def put_file(archive: Archive, path: Path, *, limit: int = MAX_FILE_BYTES, mend: bool = False) -> StoredBlob:
    """Store the file unless the archive has its content; return the stored blob.

    Reads the file twice: to hash it, and to compress it. With `mend` an existing blob is verified, too, and
    replaced if it is damaged. Raises `SymbolFileTooLarge` before reading a file over `limit` bytes,
    `SymbolFileChanged`, `ArchiveError`, and `OSError` for the file.
    """
    size = path.stat().st_size
    if size > limit:
        raise SymbolFileTooLarge(f"{path.name} has {size} bytes; the limit is {limit}.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        raw_bytes = file.tell()
        if (there := _there(archive, digest, raw_bytes, mend=mend)) is not None:
            return there
        file.seek(0)
        chunks = _compressed(iter(lambda: file.read(_CHUNK), b""), raw_bytes, digest)
        return StoredBlob(digest, archive.put_chunks(key_of(digest), chunks), raw_bytes)


def put_bytes(archive: Archive, data: bytes) -> StoredBlob:
    """Store these bytes unless the archive has them undamaged. For small content: sources, symbol tables."""
    digest = hashlib.sha256(data).digest()
    if (there := _there(archive, digest, len(data), mend=True)) is not None:
        return there
    stored = archive.put_chunks(key_of(digest), _compressed([data], len(data), digest))
    return StoredBlob(digest, stored, len(data))


def read_chunks(archive: Archive, sha256: bytes, *, limit: int) -> Iterator[bytes]:
    """Yield the blob's content in parts of at most a mebibyte; the last part only after the hash is verified.

    `limit` is the size in the blob's row (`raw_bytes`). Raises `BlobMissing`, `BlobDamaged`, `ArchiveUnavailable`.
    """
    key = key_of(sha256)
    packed = _Packed(archive.chunks(key, limit=limit + limit // 128 + 1024))  # zstd's own bound is below that
    digest, size, last = hashlib.sha256(), 0, b""
    # A stream reader stops at the requested size: a mebibyte of packed zeros unpacks to 30 GB at once.
    with zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", packed)) as reader:
        while True:
            try:
                chunk = reader.read(_CHUNK)
            except zstandard.ZstdError as error:
                raise BlobDamaged(f"Cannot decompress the blob {key}: {error}.") from error
            size += len(chunk)
            if size > limit:
                raise BlobDamaged(f"The blob {key} has more than its {limit} bytes.")
            digest.update(chunk)
            if not chunk:
                break
            if last:
                yield last
            last = chunk
    if digest.digest() != sha256:
        raise BlobDamaged(f"The blob {key} does not match its digest: it was changed or cut off.")
    if last:
        yield last


def read_bytes(archive: Archive, sha256: bytes, *, limit: int) -> bytes:
    """The whole content of a small blob; raises like `read_chunks`."""
    return b"".join(read_chunks(archive, sha256, limit=limit))


def fetch(archive: Archive, sha256: bytes, target: Path, *, limit: int) -> None:
    """Write the blob's content to `target` atomically; raises like `read_chunks`.

    Concurrent fetches of the same file do not interfere. The folder must exist.
    """
    # The target folders' cleanup recognizes this name and removes files that a killed process left.
    temporary = target.with_name(f".unfinished-{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            for chunk in read_chunks(archive, sha256, limit=limit):
                file.write(chunk)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def store(
    engine: Engine,
    archive: Archive,
    put: Callable[[], StoredBlob],
    note: Callable[[Connection, StoredBlob], Noted],
) -> Noted:
    """Put a blob and reference it in a row. The blob comes first: a crash in between leaves an orphan for the sweep.

    `note` runs in a transaction in which the blob is guaranteed to exist and cannot be swept. If a sweep deleted
    an old orphan of the same content between the two steps, the blob is put again.
    """
    for _ in range(_PUTS):
        stored = put()
        with suppress(BlobMissing), engine.begin() as connection:
            hold(connection, stored.sha256)
            archive.size(key_of(stored.sha256))
            return note(connection, stored)
    raise SymbolsError(f"The blob {key_of(stored.sha256)} disappears repeatedly.")


def hold(connection: Connection, sha256: bytes) -> None:
    """Lock the blob with this content against references and sweeps until the transaction ends."""
    connection.execute(
        text("SELECT pg_advisory_xact_lock(:first, :second)"),
        {"first": _LOCK, "second": int.from_bytes(sha256[:4], "big", signed=True)},
    )


def sweep(
    engine: Engine,
    archive: Archive,
    *,
    grace: timedelta = ORPHAN_GRACE,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Delete unreferenced blobs older than `grace`; return their number. Ends early if `stopping`.

    Such blobs are left by uploads that were killed before writing their row, and by deleted rows. Any number of
    sweeps and uploads may run concurrently. Raises `ArchiveError`; deletions made before that persist.
    """
    before = datetime.now(UTC) - grace
    deleted = 0
    batch: list[bytes] = []
    for key, written in archive.keys(FOLDER):
        content = content_of(key)
        if content is None or written >= before:
            continue
        batch.append(content)
        if stopping():
            return deleted
        if len(batch) == _BATCH:
            deleted += _sweep_batch(engine, archive, batch)
            batch = []
    return deleted + _sweep_batch(engine, archive, batch)


def _sweep_batch(engine: Engine, archive: Archive, batch: list[bytes]) -> int:
    with engine.connect() as connection:
        named = _named(connection, batch)
    deleted = 0
    for content in batch:
        if content in named:
            continue
        with engine.begin() as connection:
            hold(connection, content)
            if not _named(connection, [content]):
                archive.delete(key_of(content))
                deleted += 1
    return deleted


def _named(connection: Connection, contents: list[bytes]) -> set[bytes]:
    """The contents that a row references."""
    return {
        bytes(found)
        for owner in _OWNERS
        for found in connection.scalars(select(owner.c.sha256).where(owner.c.sha256.in_(contents)))
    }


def _there(archive: Archive, sha256: bytes, raw_bytes: int, *, mend: bool) -> StoredBlob | None:
    """The existing blob with this content; None: no blob, or with `mend` no undamaged one."""
    try:
        stored = StoredBlob(sha256, archive.size(key_of(sha256)), raw_bytes)
        if mend:
            for _ in read_chunks(archive, sha256, limit=raw_bytes):
                pass
    except (BlobMissing, BlobDamaged, BlobTooLarge):
        return None
    return stored


def _compressed(chunks: Iterable[bytes], raw_bytes: int, sha256: bytes) -> Iterator[bytes]:
    """The chunks as one zstd frame; raises `SymbolFileChanged` at the end if size or hash are not the given ones."""
    digest, size = hashlib.sha256(), 0
    packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=raw_bytes)
    try:
        for chunk in chunks:
            size += len(chunk)
            digest.update(chunk)
            if packed := packer.compress(chunk):
                yield packed
        last = packer.flush()
    except zstandard.ZstdError as error:
        raise SymbolFileChanged("The file changed while it was stored; store it again.") from error
    if size != raw_bytes or digest.digest() != sha256:
        raise SymbolFileChanged("The file changed while it was stored; store it again.")
    yield last


class _Packed:
    """A file-like reader over chunks, for the decompressor."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty at the end."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
