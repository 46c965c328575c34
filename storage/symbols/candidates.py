"""Debug files that may name a binary's functions, ranked.

A binary may have several: a stripped one from a gateway, one with DWARF from a build. The best quality that is not
rejected wins, then the newest, so a bad first upload can always be replaced. A worker whose build from a file fails
because of the file rejects it with the reason.
"""

import builtins
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, delete, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from storage.archive import Archive
from storage.schema import debug_file
from storage.symbols import symbol_blobs
from storage.symbols.absences import forget_absences
from storage.symbols.companion_files import note_completed, note_parted
from storage.symbols.errors import UnknownDebugFile
from storage.symbols.keys import checked, sentence
from storage.symbols.kinds import NAMING, FileKind, Quality
from storage.symbols.symbol_blobs import MAX_FILE_BYTES, StoredBlob

UPLOAD: Final = "upload"
"""Origin of a file that a person or a CI build uploaded; an upload lifts a rejection of the same file."""
TOUCH_EVERY: Final = timedelta(hours=12)
_LOCK: Final = 0x666C_7963
"""First key of the advisory lock; the second is a hash of the binary's key."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to add; it was inspected, so its key is taken from its content."""

    binary_key: str
    kind: FileKind
    quality: Quality
    path: Path
    """Current location; the file is copied."""
    origin: str
    """`UPLOAD`, the URL it was fetched from, or the machines that gave it."""
    name: str = ""
    """Its original base name."""
    variant: str = ""
    """Distinguishes files that coexist: for kallsyms the digest of the module set."""
    uploaded_by: str = ""
    needs: tuple[str, ...] = ()
    """Keys of files that complete it: what dwz moved out of it, the other halves of split DWARF."""
    machine_id: int | None = None
    """The only machine that vouches for the file (`storage.symbols.answers`)."""


@dataclass(frozen=True, slots=True)
class DebugFile:
    """A row of `debug_file`."""

    debug_file_id: int
    binary_key: str
    kind: FileKind
    variant: str
    name: str
    quality: Quality
    sha256: builtins.bytes
    bytes: int
    """Size of the blob."""
    raw_bytes: int
    """Size of the file."""
    origin: str
    uploaded_by: str
    added_at: datetime
    rejected: str | None
    """Why the file must not be used; None: it may be."""
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Added:
    """Result of adding a candidate."""

    outcome: Literal["new", "known", "restored"]
    """`known`: it was stored already; `restored`: it was stored but rejected."""
    file: DebugFile
    best: bool
    """The file now names this binary's functions."""
    replaced: DebugFile | None = None
    """The file that named them before."""
    completes: tuple[str, ...] = ()
    """Other binaries for which this was the last missing file."""


def add(engine: Engine, archive: Archive, candidate: Candidate, *, limit: int = MAX_FILE_BYTES) -> Added:
    """Store the file and record it as a candidate; a file that is stored already is recorded as known.

    Owns its transactions: blob first, then the row. Raises `BadKey`, `SymbolFileTooLarge` (over
    `limit` bytes), `SymbolFileChanged`, `ArchiveError`, `DatabaseError`.
    """
    checked(candidate.binary_key)
    return symbol_blobs.store(
        engine,
        archive,
        # The uploader of a known file may want to replace a damaged blob.
        lambda: symbol_blobs.put_file(archive, candidate.path, limit=limit, mend=candidate.origin == UPLOAD),
        lambda connection, stored: _note(connection, candidate, stored),
    )


def ranked(
    connection: Connection,
    binary_key: str,
    *,
    kinds: Collection[FileKind] = NAMING,
    variant: str | None = None,
) -> list[DebugFile]:
    """The usable candidates of these kinds, best first; `variant` None: any."""
    return _ranked(
        connection, binary_key, kinds, () if variant is None else (debug_file.c.variant == variant,)
    )


def every(connection: Connection, binary_key: str) -> list[DebugFile]:
    """All candidates of a binary, best first, rejected ones last."""
    return every_of(connection, [binary_key]).get(binary_key, [])


def every_of(connection: Connection, binary_keys: Iterable[str]) -> dict[str, list[DebugFile]]:
    """Like `every`, for several binaries, by key; binaries without candidates are left out."""
    rows = connection.execute(
        select(debug_file)
        .where(debug_file.c.binary_key.in_(list(binary_keys)))
        .order_by(debug_file.c.rejected.is_not(None), *_order())
    )
    found: dict[str, list[DebugFile]] = {}
    for row in rows:
        found.setdefault(row.binary_key, []).append(_file(row))
    return found


def known(connection: Connection, sha256s: Iterable[bytes]) -> dict[bytes, list[DebugFile]]:
    """The files that are stored already, by SHA-256: uploaders check this before sending."""
    found: dict[bytes, list[DebugFile]] = {}
    for row in connection.execute(select(debug_file).where(debug_file.c.sha256.in_(list(sha256s)))):
        found.setdefault(bytes(row.sha256), []).append(_file(row))
    return found


def find(connection: Connection, binary_key: str, sha256: bytes) -> DebugFile:
    """One candidate. Raises `UnknownDebugFile`."""
    row = connection.execute(select(debug_file).where(*_is(binary_key, sha256))).one_or_none()
    if row is None:
        raise UnknownDebugFile(f"{binary_key} has no debug file {sha256.hex()}.")
    return _file(row)


def reject(connection: Connection, binary_key: str, sha256: bytes, why: str) -> bool:
    """Stop using the file and record why; False: it does not exist, or was rejected already."""
    _lock(connection, binary_key)
    rejected = connection.execute(
        update(debug_file)
        .where(*_is(binary_key, sha256), debug_file.c.rejected.is_(None))
        .values(rejected=sentence(why), changed_at=func.clock_timestamp())
    ).rowcount
    if rejected:
        note_parted(connection, binary_key)
    return bool(rejected)


def give_way(connection: Connection, binary_key: str, sha256: bytes, why: str) -> bool:
    """Reject a file with unusable debug information if another has some; False: there is no other.

    Without another the file stays, for its symbol table.
    """
    others = (file for file in ranked(connection, binary_key) if file.sha256 != sha256)
    return any(file.quality == Quality.DWARF for file in others) and reject(
        connection, binary_key, sha256, why
    )


def remove(connection: Connection, binary_key: str, sha256: bytes) -> bool:
    """Delete the file's row; the next sweep deletes its blob. False: it did not exist.

    Caches built from the file become unusable (`caches.standing`). Captures keep the names from it until they are
    reprocessed.
    """
    _lock(connection, binary_key)
    removed = connection.execute(delete(debug_file).where(*_is(binary_key, sha256))).rowcount
    if removed:
        note_parted(connection, binary_key)
    return bool(removed)


def touch(connection: Connection, file: DebugFile) -> None:
    """Record that the file is in use; writes at most twice a day."""
    connection.execute(
        update(debug_file)
        .where(
            debug_file.c.debug_file_id == file.debug_file_id,
            or_(debug_file.c.used_at.is_(None), debug_file.c.used_at < func.now() - TOUCH_EVERY),
        )
        .values(used_at=func.now())
    )


def fetch(archive: Archive, file: DebugFile, target: Path) -> None:
    """Write the verified file to `target` atomically; raises like `symbol_blobs.fetch`."""
    symbol_blobs.fetch(archive, file.sha256, target, limit=file.raw_bytes)


def _note(connection: Connection, candidate: Candidate, stored: StoredBlob) -> Added:
    _lock(connection, candidate.binary_key)
    before = _best(connection, candidate)
    old = connection.execute(
        select(debug_file).where(*_is(candidate.binary_key, stored.sha256))
    ).one_or_none()
    values: dict[str, Any] = {
        "kind": candidate.kind.value,
        "variant": sentence(candidate.variant),
        "name": sentence(candidate.name),
        "quality": int(candidate.quality),
        "origin": sentence(candidate.origin),
        "uploaded_by": sentence(candidate.uploaded_by),
        "needs": [checked(key) for key in candidate.needs],
        "machine_id": candidate.machine_id,
    }
    mended = old is not None and old.rejected is not None and candidate.origin == UPLOAD
    if old is None:
        statement = insert(debug_file).values(
            binary_key=candidate.binary_key,
            sha256=stored.sha256,
            bytes=stored.bytes,
            raw_bytes=stored.raw_bytes,
            **values,
        )
        row = connection.execute(statement.returning(debug_file)).one()
    else:
        # A repeated upload is meant to be used, so it becomes the newest. A repeated fetch adds no information.
        news: dict[str, Any] = {"used_at": func.now()}
        if candidate.origin == UPLOAD:
            news |= {**values, "added_at": func.now(), "changed_at": func.now(), "rejected": None}
        elif candidate.machine_id is None and old.machine_id is not None:
            news |= {"machine_id": None, "origin": values["origin"]}
        connection.execute(
            update(debug_file).where(debug_file.c.debug_file_id == old.debug_file_id).values(**news)
        )
        row = connection.execute(
            select(debug_file).where(debug_file.c.debug_file_id == old.debug_file_id)
        ).one()
    forget_absences(connection, candidate.binary_key)
    completes = note_completed(connection, candidate.binary_key) if old is None or mended else ()
    after = _best(connection, candidate)
    file = _file(row)
    best = after is not None and after.debug_file_id == file.debug_file_id
    was_best = before is not None and before.debug_file_id == file.debug_file_id
    return Added(
        "restored" if mended else "known" if old is not None else "new",
        file,
        best,
        before if best and not was_best else None,
        completes,
    )


def _best(connection: Connection, candidate: Candidate) -> DebugFile | None:
    """The best among the files that the candidate competes with."""
    kinds = NAMING if candidate.kind in NAMING else (candidate.kind,)
    files = _ranked(connection, candidate.binary_key, kinds, (debug_file.c.variant == candidate.variant,))
    return files[0] if files else None


def _ranked(
    connection: Connection,
    binary_key: str,
    kinds: Collection[FileKind],
    conditions: Iterable[ColumnElement[bool]],
) -> list[DebugFile]:
    rows = connection.execute(
        select(debug_file)
        .where(
            debug_file.c.binary_key == binary_key,
            debug_file.c.rejected.is_(None),
            debug_file.c.kind.in_([kind.value for kind in kinds]),
            *conditions,
        )
        .order_by(*_order())
    )
    return [_file(row) for row in rows]


def _order() -> tuple[ColumnElement[Any], ...]:
    return debug_file.c.quality.desc(), debug_file.c.added_at.desc(), debug_file.c.debug_file_id.desc()


def _is(binary_key: str, sha256: bytes) -> tuple[ColumnElement[bool], ...]:
    return (and_(debug_file.c.binary_key == binary_key, debug_file.c.sha256 == sha256),)


def _lock(connection: Connection, binary_key: str) -> None:
    """Serialize changes to a binary's candidates: their ranking depends on all of them."""
    connection.execute(
        text("SELECT pg_advisory_xact_lock(:first, hashtext(:key))"), {"first": _LOCK, "key": binary_key}
    )


def _file(row: Row[Any]) -> DebugFile:
    return DebugFile(
        debug_file_id=row.debug_file_id,
        binary_key=row.binary_key,
        kind=FileKind(row.kind),
        variant=row.variant,
        name=row.name,
        quality=Quality(row.quality),
        sha256=bytes(row.sha256),
        bytes=row.bytes,
        raw_bytes=row.raw_bytes,
        origin=row.origin,
        uploaded_by=row.uploaded_by,
        added_at=row.added_at,
        rejected=row.rejected,
        used_at=row.used_at,
    )
