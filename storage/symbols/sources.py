"""Source files of binaries, stored once per content (DIGEST G18).

A file is identified by the hash of its content, so versions coexist, and builds with the same text share one row and
one blob. Its path is the normalised path in the debug information.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from storage.archive import Archive
from storage.schema import binary, function, source_file, source_path
from storage.symbols import symbol_blobs
from storage.symbols.errors import BadKey, SymbolFileTooLarge
from storage.symbols.keys import checked
from storage.symbols.keys import source_path as normalised
from storage.symbols.symbol_blobs import StoredBlob

MAX_SOURCE_BYTES: Final = 16 << 20
"""SQLite's amalgamation, one of the largest there are, has 9 MB."""
_AT_ONCE = 1000
"""Paths per lookup statement."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source text that a binary was built from."""

    sha256: bytes
    raw_bytes: int
    path: str
    """The requested path, normalised."""


def put_source(
    engine: Engine, archive: Archive, binary_key: str, path: str, text: bytes, *, fetched: bool = False
) -> SourceFile:
    """Store the text of `path` for this binary; a newer text replaces an older one.

    `fetched`: the text was fetched, not uploaded, and may be deleted for space. Owns its transactions. Raises
    `BadKey`, `SymbolFileTooLarge`, `ArchiveError`, `DatabaseError`.
    """
    checked(binary_key)
    where = normalised(path)
    if len(text) > MAX_SOURCE_BYTES:
        raise SymbolFileTooLarge(f"{where[:200]} has {len(text)} bytes; the limit is {MAX_SOURCE_BYTES}.")

    def note(connection: Connection, stored: StoredBlob) -> SourceFile:
        connection.execute(
            insert(source_file)
            .values(sha256=stored.sha256, bytes=stored.bytes, raw_bytes=stored.raw_bytes, fetched=fetched)
            # The row is locked until the transaction ends: retention does not delete a row that was just added.
            .on_conflict_do_update(
                index_elements=["sha256"],
                set_={"added_at": func.now(), "fetched": source_file.c.fetched & fetched},
            )
        )
        connection.execute(
            insert(source_path)
            .values(binary_key=binary_key, path=where, sha256=stored.sha256)
            .on_conflict_do_update(
                index_elements=["binary_key", "path"],
                set_={"sha256": stored.sha256, "added_at": func.now()},
            )
        )
        return SourceFile(stored.sha256, stored.raw_bytes, where)

    return symbol_blobs.store(engine, archive, lambda: symbol_blobs.put_bytes(archive, text), note)


def find_source(connection: Connection, binary_key: str, path: str) -> SourceFile | None:
    """The stored source of `path` in this binary; None: not stored."""
    return find_sources(connection, binary_key, [path]).get(normalised(path))


def find_sources(connection: Connection, binary_key: str, paths: Iterable[str]) -> dict[str, SourceFile]:
    """The stored sources of these paths, by normalised path."""
    rows = connection.execute(
        select(source_path.c.path, source_file.c.sha256, source_file.c.raw_bytes)
        .join(source_file, source_file.c.sha256 == source_path.c.sha256)
        .where(
            source_path.c.binary_key == binary_key,
            source_path.c.path.in_([normalised(path) for path in paths]),
        )
    )
    return {row.path: SourceFile(bytes(row.sha256), row.raw_bytes, row.path) for row in rows}


def fetched_bytes(connection: Connection) -> int:
    """Archive bytes of sources that were fetched and never uploaded."""
    return int(connection.scalar(select(func.sum(source_file.c.bytes)).where(source_file.c.fetched)) or 0)


def is_built_from(connection: Connection, binary_key: str, path: str) -> bool:
    """Whether an ingested function of the binary, inlined or not, is in this file by its debug information.

    `path` is in the form of query results or in the stored form. Functions belong to binaries by name, so the function
    may be of any build of the binary. Raises `BadKey`.
    """
    paths = {checked(path, what="path"), normalised(path)}
    met = exists().where(
        binary.c.key == checked(binary_key),
        function.c.binary_name == binary.c.name,
        function.c.file != "",
        func.left(function.c.file, 256).in_([each[:256] for each in paths]),
        function.c.file.in_(paths),
    )
    return bool(connection.scalar(select(met)))


def read_source(archive: Archive, source: SourceFile) -> bytes:
    """The text. Raises `BlobMissing`, `BlobDamaged`, `ArchiveUnavailable`."""
    return symbol_blobs.read_bytes(archive, source.sha256, limit=source.raw_bytes)


def read_contents(
    connection: Connection, keys: Sequence[str], paths: Iterable[str]
) -> Mapping[tuple[str, str], bytes]:
    """SHA-256 of stored sources, by binary key and requested path."""
    by_path: dict[str, list[str]] = {}
    for path in set(paths):
        try:
            by_path.setdefault(normalised(path), []).append(path)
        except BadKey:  # such a path cannot be stored
            continue
    found: dict[tuple[str, str], bytes] = {}
    names = sorted(by_path)
    for first in range(0, len(names), _AT_ONCE):
        some = names[first : first + _AT_ONCE]
        rows = connection.execute(
            select(source_path.c.binary_key, source_path.c.path, source_path.c.sha256).where(
                source_path.c.path.in_(some), source_path.c.binary_key.in_(list(keys))
            )
        )
        for key, path, sha256 in rows:
            found.update({(key, asked): bytes(sha256) for asked in by_path[path]})
    return found
