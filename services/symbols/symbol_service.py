"""Operations on the repository of symbols, for the HTTP API and for commands on this machine.

A separate process inspects each file. The file is then stored as a candidate of the binary whose key it contains.
Workers name functions and reprocess captures when they are notified.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Final

import structlog
from sqlalchemy import Connection, Engine, text

from services.symbols import source_tree
from services.symbols.errors import NoSuchSymbols, NotYet, UnusableFile
from storage.archive import Archive
from storage.binaries import find_binary
from storage.database import snapshot
from storage.errors import QuestionDropped
from storage.ingest.late_names import unnamed_starts
from storage.symbols import caches, candidates, missing_symbols, reprocessing, sources
from storage.symbols.absences import Absence
from storage.symbols.candidates import UPLOAD, Added, Candidate, DebugFile
from storage.symbols.errors import BadKey
from storage.symbols.keys import checked, sentence, source_path
from storage.symbols.kinds import EVERY_KIND, FileKind
from storage.symbols.missing_symbols import BinarySymbols, Order, SymbolsPage, Which
from storage.symbols.reprocessing import Reprocessing
from symbolizer.errors import MalformedImage
from symbolizer.inspection.inspection import Inspection
from symbolizer.inspection.inspector import NotInspected, inspect_in_child
from symbolizer.kernel.kallsyms import read_kernel_of_table
from symbolizer.source_text.text import NotNow, SourceText, SourceTexts
from symbolizer.sources.source import Missing

Announce = Callable[[str, str], None]
"""Notifies a worker of changed symbols: the binary's key and the reason. May raise exceptions of the broker's client.
"""

DEFAULT_LARGEST: Final = 8 << 30
MAX_FILES_PER_QUERY: Final = 100
"""Files in one query."""
MAX_LISTED: Final = 1000
MOST_SECONDS: Final = 3600
"""Limit for storing the sources of one archive."""
_STATEMENT_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class ListingQuery:
    """The filter and order of a list of binaries."""

    which: Which = Which.MISSING
    order: Order = Order.CPU
    find: str = ""
    """A part of the name, path or key."""
    limit: int = 100
    offset: int = 0
    days: int = 1
    """Only samples of this many past days count."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The inspection of an upload, and its effect."""

    inspection: Inspection
    added: Added
    is_seen: bool
    """A capture contains the binary."""
    unnamed: int
    """Its functions without a name from debug information when the file arrived."""
    reprocessing_before: int
    """The binary's newest reprocessing before the upload; 0: none."""
    lacks: str
    """A missing file that the upload needs, a sentence; '' if none."""


class SymbolService:
    """The repository of symbols. Safe to share between threads."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        *,
        texts: SourceTexts | None = None,
        announce: Announce | None = None,
        largest_bytes: int = DEFAULT_LARGEST,
    ) -> None:
        """The caller keeps ownership of the engine.

        `texts` also finds sources that were not uploaded. `announce` None: no broker. `largest_bytes`: of one file,
        decompressed.
        """
        self.engine = engine
        self.archive = archive
        self.largest_bytes = largest_bytes
        self._texts = texts
        self._announce = announce

    def known(self, sha256s: Iterable[bytes]) -> dict[bytes, list[DebugFile]]:
        """The files that are stored, by SHA-256."""
        with self.engine.connect() as connection:
            return candidates.known(connection, sha256s)

    def add(self, path: Path, *, name: str, uploaded_by: str = "") -> Uploaded:
        """Store a file as a candidate of its binary, and notify the workers.

        Raises `UnusableFile`, and what `storage.symbols.candidates.add` raises.
        """
        found = inspect_in_child(path)
        if isinstance(found, NotInspected):
            raise UnusableFile(f"{name}: {found.reason}")
        if not found.key:
            raise UnusableFile(
                f"{name}: It lists a kernel's functions at the addresses of one boot, without a build-id. "
                "Upload that kernel's vmlinux, or let gateways share their kernels' functions."
            )
        added = candidates.add(
            self.engine,
            self.archive,
            Candidate(
                binary_key=found.key,
                kind=found.kind,
                quality=found.quality,
                path=path,
                origin=UPLOAD,
                name=name,
                variant=_variant(path, name) if found.kind == FileKind.KALLSYMS else "",
                uploaded_by=uploaded_by,
                needs=found.needs,
            ),
            limit=self.largest_bytes,
        )
        with self.engine.connect() as connection:
            before = reprocessing.latest(connection, [found.key]).get(found.key)
            done = Uploaded(
                found,
                added,
                is_seen=find_binary(connection, found.key) is not None,
                unnamed=len(unnamed_starts(connection, found.key)),
                reprocessing_before=before.reprocessing_id if before else 0,
                lacks=_lacks(connection, found),
            )
        for key in (found.key, *added.completes):
            self._announce_change(key, f"{name} was uploaded.")
        return done

    def remove(self, key: str, sha256: bytes) -> DebugFile:
        """Remove a candidate, and have captures reprocessed that it may have named. Raises `UnknownDebugFile`."""
        with self.engine.begin() as connection:
            file = candidates.find(connection, key, sha256)
            candidates.remove(connection, key, sha256)
            why = f"{file.name or 'A file'} was removed."
            keys = sorted({key} | caches.made_of(connection, sha256))
            for changed in keys:
                if find_binary(connection, changed) is not None:
                    # This notifies workers, too: they drop the file's names.
                    reprocessing.begin(connection, changed, why=why, nameless=False)
        for changed in keys:
            self._announce_change(changed, why)
        return file

    def listing(self, query: ListingQuery) -> SymbolsPage:
        """Binaries by their unnamed samples. Raises `BadSelection`."""
        with self._snapshot() as connection:
            return missing_symbols.read_symbols(
                connection,
                *_lately(query.days),
                which=query.which,
                order=query.order,
                matching=query.find,
                limit=query.limit,
                offset=query.offset,
            )

    def show(self, key: str) -> tuple[BinarySymbols, list[Absence]]:
        """Everything about one binary. Raises `NoSuchSymbols`."""
        with self._snapshot() as connection:
            found = missing_symbols.read_binary(connection, key, *_lately(1))
            if found is None:
                raise NoSuchSymbols(
                    f"Unknown binary {key[:100]}: no capture contains it, and no file is stored for it."
                )
            return found, missing_symbols.read_absences(connection, key)

    def add_sources(
        self, key: str, archive: Path, *, stopping: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Store the files of a tar archive as the sources of the binary; `SourcesAnswer` without `sampled`.

        Files with names that cannot be stored are skipped and counted. A truncated or damaged archive stores no file.
        Raises `UnusableFile`, also when storing takes more than `MOST_SECONDS`; `QuestionDropped` between two files
        once `stopping` is true; and what `put_source` raises.
        """
        checked(key)
        files = size = skipped = 0
        deadline = monotonic() + MOST_SECONDS
        for path, content in source_tree.unpack(archive, stopping=stopping):
            if stopping():
                break
            if monotonic() > deadline:
                raise UnusableFile(
                    f"Storing the sources took more than {MOST_SECONDS:,} s; the first {files:,} files are stored."
                )
            try:
                source_path(path)
            except BadKey:  # debug information contains no such name either
                skipped += 1
                continue
            sources.put_source(self.engine, self.archive, key, path, content)
            files += 1
            size += len(content)
        if stopping():
            raise QuestionDropped(
                f"The client that sent the sources has disconnected; the first {files:,} files are stored."
            )
        return {"key": key, "files": files, "bytes": size, "skipped": skipped}

    def is_sampled(self, key: str) -> bool:
        """Whether some profile has the binary."""
        with self.engine.connect() as connection:
            return find_binary(connection, checked(key)) is not None

    def source(self, key: str, path: str) -> SourceText:
        """The text of a source file that the binary was built from. Raises `NoSuchSymbols`, `NotYet`.

        Other paths are refused: a checkout may contain files that must not be shown to every viewer of profiles.
        """
        with self.engine.connect() as connection:
            seen = find_binary(connection, checked(key))
            if seen is None:
                raise NoSuchSymbols(f"Unknown binary {sentence(key, 100)}: no capture contains it.")
            if not sources.is_built_from(connection, key, path):
                raise NoSuchSymbols(
                    f"No function of {sentence(seen.name, 100)} is known to come from {sentence(path, 500)}."
                )
        found = (
            self._texts.find(key, path)
            if self._texts
            else Missing("No source of source files is configured.")
        )
        if isinstance(found, Missing):
            raise NoSuchSymbols(found.reason)
        if isinstance(found, NotNow):
            raise NotYet(found.reason, found.retry_s)
        return found

    def reprocessings(self) -> list[Reprocessing]:
        """Those in progress first, then the latest."""
        with self.engine.connect() as connection:
            return reprocessing.progress(connection)

    def _announce_change(self, key: str, why: str) -> None:
        """Notify a worker to name the functions now; if that fails, the collector's sweep does it later."""
        if self._announce is None:
            return
        try:
            self._announce(key, why)
        except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
            structlog.get_logger("fleetprof.symbols").warning("no worker notified", key=key, error=str(error))

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with snapshot(self.engine) as connection:
            connection.execute(text(f"SET LOCAL statement_timeout = {_STATEMENT_MS}"))
            yield connection


def _lately(days: int) -> tuple[datetime, datetime]:
    now = datetime.now(UTC)
    return now - timedelta(days=days), now


def _lacks(connection: Connection, found: Inspection) -> str:
    def is_stored(*keys: str) -> bool:
        return any(candidates.ranked(connection, key, kinds=EVERY_KIND) for key in keys)

    link = found.alt_link
    if link is not None and not is_stored(link.build_id.hex()):
        return (
            f"dwz moved a part of it to {sentence(link.path, 500)} (build-id {link.build_id.hex()}), without which "
            "inlined functions have no names."
        )
    if found.kind != FileKind.SPLIT and found.split_ids:
        first = found.split_ids[0]
        if not is_stored(f"dwp:{first}", f"dwo:{first}"):
            return f"Its lines are in split files such as {sentence(found.split_name)}, or in their .dwp."
    return ""


def _variant(table: Path, name: str) -> str:
    """The module set of a kernel's symbol table, which has a variant for each set. Raises `UnusableFile`."""
    try:
        with table.open("rb") as file:
            return read_kernel_of_table(file).module_set
    except MalformedImage as error:
        raise UnusableFile(f"{name}: {error}") from error
