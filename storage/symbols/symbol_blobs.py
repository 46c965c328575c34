"""The bytes of debug files, caches and sources: in the archive, by content, compressed.

A blob's name is the SHA-256 of what it holds, so the same file is there once, whoever brought it and
for however many binaries. Files have gigabytes: nothing here holds one in memory.

Whoever notes a blob in a row does so while he holds it (`hold`), after a last look that it is there;
the sweep deletes one only while it holds it, after a last look that no row names it. So of an upload
and a sweep of the same content one sees what the other did.
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
"""Of one file unpacked; callers that know better pass a smaller limit."""
_LEVEL: Final = 3
"""Of zstd: a SymCache of 291 MB becomes 67 MB in 1 s; level 9 takes 6 s for 61 MB."""
_CHUNK: Final = 1 << 20
_KEY = re.compile(rf"{FOLDER}/[0-9a-f]{{2}}/([0-9a-f]{{64}})\.zst")
_LOCK: Final = 0x666C_7962
"""First key of the advisory lock; the second is the beginning of the SHA-256."""
_OWNERS: Final = (debug_file, source_file, symcache)
_BATCH: Final = 1000
_PUTS: Final = 5
"""How often a sweep may be faster than one put; each time its grace must have passed again."""

Noted = TypeVar("Noted")


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """What lies in the archive."""

    sha256: bytes
    """Of the content; names the blob."""
    bytes: int
    """Compressed."""
    raw_bytes: int


def key_of(sha256: bytes) -> str:
    """Where the blob with this content lies in the archive."""
    name = sha256.hex()
    return f"{FOLDER}/{name[:2]}/{name}.zst"


def content_of(key: str) -> bytes | None:
    """The SHA-256 that an archive's key names; None: it is no key of a blob of symbols."""
    match = _KEY.fullmatch(key)
    return bytes.fromhex(match[1]) if match else None


def put_file(archive: Archive, path: Path, *, limit: int = MAX_FILE_BYTES, mend: bool = False) -> StoredBlob:
    """Store the file, unless the archive has its content; what lies there then.

    Reads it twice: to know its name, and to compress it. With `mend` a blob that is there is read as well,
    and replaced if it is damaged. Raises `SymbolFileTooLarge` before reading
    a file over `limit` bytes, `SymbolFileChanged`, `ArchiveError`, and `OSError` for the file.
    """
    size = path.stat().st_size
    if size > limit:
        raise SymbolFileTooLarge(f"{path.name} has {size} bytes, more than the {limit} accepted.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        raw_bytes = file.tell()
        if (there := _there(archive, digest, raw_bytes, mend=mend)) is not None:
            return there
        file.seek(0)
        chunks = _compressed(iter(lambda: file.read(_CHUNK), b""), raw_bytes, digest)
        return StoredBlob(digest, archive.put_chunks(key_of(digest), chunks), raw_bytes)


def put_bytes(archive: Archive, data: bytes) -> StoredBlob:
    """Store these bytes, unless the archive has them undamaged. For what is small: sources, symbol tables."""
    digest = hashlib.sha256(data).digest()
    if (there := _there(archive, digest, len(data), mend=True)) is not None:
        return there
    stored = archive.put_chunks(key_of(digest), _compressed([data], len(data), digest))
    return StoredBlob(digest, stored, len(data))


def read_chunks(archive: Archive, sha256: bytes, *, limit: int) -> Iterator[bytes]:
    """The blob's content in parts of a mebibyte or less; the last comes only if all was what it should be.

    `limit` is what its row says it has (`raw_bytes`). Raises `BlobMissing`, `BlobDamaged`, `ArchiveUnavailable`.
    """
    key = key_of(sha256)
    packed = _Packed(archive.chunks(key, limit=limit + limit // 128 + 1024))  # zstd's own bound is below that
    digest, size, last = hashlib.sha256(), 0, b""
    # A reader, which stops at the size asked for: a mebibyte of packed zeros unpacks to 30 GB at once.
    with zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", packed)) as reader:
        while True:
            try:
                chunk = reader.read(_CHUNK)
            except zstandard.ZstdError as error:
                raise BlobDamaged(f"The blob {key} cannot be unpacked: {error}.") from error
            size += len(chunk)
            if size > limit:
                raise BlobDamaged(f"The blob {key} holds more than its {limit} bytes.")
            digest.update(chunk)
            if not chunk:
                break
            if last:
                yield last
            last = chunk
    if digest.digest() != sha256:
        raise BlobDamaged(f"The blob {key} does not hold what it is named by: it was changed or cut short.")
    if last:
        yield last


def read_bytes(archive: Archive, sha256: bytes, *, limit: int) -> bytes:
    """The whole content of a small blob; raises as `read_chunks` does."""
    return b"".join(read_chunks(archive, sha256, limit=limit))


def fetch(archive: Archive, sha256: bytes, target: Path, *, limit: int) -> None:
    """Write the blob's content to `target`, which is there whole or not at all; raises as `read_chunks` does.

    Two that fetch the same file at once do not disturb each other. The folder must be there.
    """
    # Named as the folders it is fetched to name what a killed process left, which they remove in time.
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
    """Put a blob and note it in a row: blob first; a crash in between leaves an orphan for the sweep.

    `note` runs in a transaction in which the blob is surely there, and stays. A sweep may have taken
    an old orphan of the same content between the two; then the blob is put once more.
    """
    for _ in range(_PUTS):
        stored = put()
        with suppress(BlobMissing), engine.begin() as connection:
            hold(connection, stored.sha256)
            archive.size(key_of(stored.sha256))
            return note(connection, stored)
    raise SymbolsError(f"The blob {key_of(stored.sha256)} disappears again and again.")


def hold(connection: Connection, sha256: bytes) -> None:
    """Until this transaction ends nobody else notes the blob with this content in a row, or sweeps it."""
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
    """Delete the blobs older than `grace` that no row names; their number. Ends early if `stopping`.

    Those of an upload that was killed before its row, and those whose last row went. Any number of
    sweeps and uploads may run at the same time. Raises `ArchiveError`; what was deleted is.
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
    """Those of them that a row names."""
    return {
        bytes(found)
        for owner in _OWNERS
        for found in connection.scalars(select(owner.c.sha256).where(owner.c.sha256.in_(contents)))
    }


def _there(archive: Archive, sha256: bytes, raw_bytes: int, *, mend: bool) -> StoredBlob | None:
    """What lies under this content's name; None: nothing, or with `mend` nothing that is whole."""
    try:
        stored = StoredBlob(sha256, archive.size(key_of(sha256)), raw_bytes)
        if mend:
            for _ in read_chunks(archive, sha256, limit=raw_bytes):
                pass
    except (BlobMissing, BlobDamaged, BlobTooLarge):
        return None
    return stored


def _compressed(chunks: Iterable[bytes], raw_bytes: int, sha256: bytes) -> Iterator[bytes]:
    """The chunks as one zstd frame; raises `SymbolFileChanged` at the end if they are not what was announced."""
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
        raise SymbolFileChanged("The file was written to while it was stored; store it again.") from error
    if size != raw_bytes or digest.digest() != sha256:
        raise SymbolFileChanged("The file was written to while it was stored; store it again.")
    yield last


class _Packed:
    """Chunks as something that can be read from, for the unpacker."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
