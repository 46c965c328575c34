"""Debug files: what may name a binary's functions, the best of them first.

There may be several for a binary: a stripped one from a gateway, one with DWARF from a build. The
best quality that is not rejected wins, then the newest, so a bad first upload never stays in the way.
Whoever finds that one cannot be used (a build from it failed) rejects it, with the reason.
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
"""Origin of what a person or a build brought; an upload takes a rejection of the same file back."""
TOUCH_EVERY: Final = timedelta(hours=12)
_LOCK: Final = 0x666C_7963
"""First key of the advisory lock; the second is a hash of the binary's key."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to be added, inspected already: its key is what it really is of."""

    binary_key: str
    kind: FileKind
    quality: Quality
    path: Path
    """Where it lies now; it is copied."""
    origin: str
    """`UPLOAD`, the URL it is from, or which machines gave it."""
    name: str = ""
    """Base name it was known by."""
    variant: str = ""
    """Which of those that stand beside each other: of kallsyms the digest of the module set."""
    uploaded_by: str = ""
    needs: tuple[str, ...] = ()
    """Keys of files that complete it: what dwz moved out of it, the other halves of split DWARF."""
    machine_id: int | None = None
    """The one machine whose word for it there is (`storage.symbols.answers`)."""


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
    """Of the blob."""
    raw_bytes: int
    """Of the file."""
    origin: str
    uploaded_by: str
    added_at: datetime
    rejected: str | None
    """Why it is not to be used."""
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a candidate."""

    outcome: Literal["new", "known", "restored"]
    """`known`: it was there already; `restored`: there already, but rejected until now."""
    file: DebugFile
    best: bool
    """It is now the one that names this binary's functions."""
    replaced: DebugFile | None = None
    """The one that did until now."""
    completes: tuple[str, ...] = ()
    """Other binaries that lacked this file, and lack nothing any more."""


def add(engine: Engine, archive: Archive, candidate: Candidate, *, limit: int = MAX_FILE_BYTES) -> Added:
    """Store the file and note it as a candidate; the same file again is noted as known.

    Owns its transactions: blob first, then the row. Raises `BadKey`, `SymbolFileTooLarge` (over
    `limit` bytes), `SymbolFileChanged`, `ArchiveError`, `DatabaseError`.
    """
    checked(candidate.binary_key)
    return symbol_blobs.store(
        engine,
        archive,
        # Whoever brings a file once more may do so because the stored one cannot be read.
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
    """The candidates of these kinds that may be used, the best first; `variant` None: any."""
    return _ranked(
        connection, binary_key, kinds, () if variant is None else (debug_file.c.variant == variant,)
    )


def every(connection: Connection, binary_key: str) -> list[DebugFile]:
    """All candidates of a binary, the best first, rejected ones last."""
    return every_of(connection, [binary_key]).get(binary_key, [])


def every_of(connection: Connection, binary_keys: Iterable[str]) -> dict[str, list[DebugFile]]:
    """All candidates of these binaries that have some, as `every`, by key."""
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
    """Which of these files are stored, by SHA-256: an uploader asks before it sends."""
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
    """Use the file no more, and say why; False: it is not there, or was rejected already."""
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
    """Reject a file whose debug information proved unusable, if there is another's; False: there is none.

    The only one stays, for its symbol table.
    """
    others = (file for file in ranked(connection, binary_key) if file.sha256 != sha256)
    return any(file.quality == Quality.DWARF for file in others) and reject(
        connection, binary_key, sha256, why
    )


def remove(connection: Connection, binary_key: str, sha256: bytes) -> bool:
    """Forget the file; its blob goes with the next sweep. False: it was not there.

    What was built from it is used no more (`caches.standing`); captures keep what it named until they are
    reprocessed.
    """
    _lock(connection, binary_key)
    removed = connection.execute(delete(debug_file).where(*_is(binary_key, sha256))).rowcount
    if removed:
        note_parted(connection, binary_key)
    return bool(removed)


def touch(connection: Connection, file: DebugFile) -> None:
    """Note that the file is used today; writes at most twice a day."""
    connection.execute(
        update(debug_file)
        .where(
            debug_file.c.debug_file_id == file.debug_file_id,
            or_(debug_file.c.used_at.is_(None), debug_file.c.used_at < func.now() - TOUCH_EVERY),
        )
        .values(used_at=func.now())
    )


def fetch(archive: Archive, file: DebugFile, target: Path) -> None:
    """Write the file to `target`, whole and verified, or not at all; raises as `blobs.fetch` does."""
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
        # What is brought once more is meant to be used: it is the newest now. A fetch says nothing new.
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
    """The best of those that this candidate stands beside."""
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
    """One change at a time to a binary's candidates: who is best depends on all of them."""
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
