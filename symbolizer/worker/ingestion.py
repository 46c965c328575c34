"""Ingests captures from the archive into the store: lease, read, resolve, write.

A worker that receives one capture also takes others that wait and ingests them in one transaction, which
shares the cost of the transaction and of a dictionary's new rows. If none wait, it ingests the one.

PostgreSQL records what remains to be done. After a failure the lease is released with the reason, and the
collector's sweep sends the capture again; a capture that can never be ingested is quarantined.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, Engine

from storage import captures
from storage.archive import Archive
from storage.binaries import note_symbols
from storage.errors import ArchiveUnavailable, BadCapture, BlobTooLarge, DatabaseError, StorageError
from storage.ingest.decode_capture import decode_capture
from storage.ingest.errors import FormatTooNew
from storage.ingest.ingest import Ingested, ToIngest, ingest_many
from storage.ingest.interning import DEFAULT_STACK_BYTES, Interner
from storage.ingest.symbolized import BinaryReport, Status
from storage.leases import Lease, lease_first, lease_waiting, release
from storage.symbols import reprocessing
from storage.symbols.improved_binaries import is_answered
from symbolizer.images.resolve import Resolver
from symbolizer.worker.events import CaptureFailed, CapturesIngested, Watcher, ignore_event
from symbolizer.worker.lease_renewal import LeaseRenewal
from symbolizer.worker.symbol_invalidation import SymbolInvalidation

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Length of a capture's lease, limits of attempts and batches."""

    seconds: float = 30.0
    """Time after a worker's death until another may take its capture; a running worker renews the lease."""
    attempts_limit: int = 5
    """A capture that failed this often is quarantined with its last reason."""
    batch: int = 16
    """Most captures ingested in one transaction."""
    batch_bytes: int = 64 << 20
    """Most unpacked bytes of a batch, not counting the requested capture."""


DEFAULT_TERMS: Final = LeaseTerms()
TRANSIENT_ERRORS: Final = (ArchiveUnavailable, DatabaseError)
"""Failures without a fault of the capture: it waits until they pass, however long that takes."""
MAX_REREADS: Final = 3
"""Limit of rereading: symbols that change constantly do not prevent ingestion."""
MAX_NOTED: Final = 10_000
"""Binaries that a process remembers as reported."""


class Ingester:
    """Ingests captures. For one thread: its caches are not shared."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        resolver: Resolver,
        *,
        terms: LeaseTerms = DEFAULT_TERMS,
        stack_bytes: int = DEFAULT_STACK_BYTES,
        announce_better: Callable[[str], None] = lambda _: None,
        watcher: Watcher = ignore_event,
    ) -> None:
        """`announce_better` is called with a binary whose symbols are better than at earlier ingestions; best effort.

        `stack_bytes` is the memory for the ids of stacks.
        """
        self._engine = engine
        self._archive = archive
        self._resolver = resolver
        self._interner = Interner(engine, stack_bytes=stack_bytes)
        self._terms = terms
        self._has_better = announce_better
        self._watcher = watcher
        self._noted: dict[str, BinaryReport] = {}
        self._invalidation = SymbolInvalidation(engine, resolver.forget)

    def ingest(self, visit_id: UUID) -> Ingested | None:
        """Ingest the capture, with others that wait; None: there was nothing to do, or a failure was recorded.

        Raises `DatabaseError` only if a failure could not be recorded; the lease then expires.
        """
        leases = self._lease(visit_id)
        if not leases:
            log.info("nothing to ingest: visit=%s", visit_id)
            return None
        started = time.monotonic()
        waiting, read = leases, dict[Lease, ToIngest]()
        with LeaseRenewal(self._engine, leases, seconds=self._terms.seconds) as held:
            try:
                self._invalidation.poll()
                read = self._read_all(leases, held)
                waiting = list(read)
                # Reading may have taken minutes, and symbols that improved meanwhile would be missed. Reading again
                # takes time too: a reprocessing includes only ingestions that end within `LATE` of its beginning.
                for _ in range(MAX_REREADS):
                    changed = self._invalidation.poll()
                    stale = {lease for lease in waiting if _holds(read[lease], changed)}
                    if not stale:
                        break
                    anew = self._read_all(stale, held)
                    read = {lease: read[lease] for lease in waiting if lease not in stale} | anew
                    waiting = list(read)
                results = ingest_many(self._engine, self._interner, list(read.values()))
            except DatabaseError as error:
                results = [Ingested("failed", error=error)] * len(waiting)
        took = time.monotonic() - started
        ingested = {}
        for lease, result in zip(waiting, results, strict=True):
            if result.error is not None:
                self._failed(lease, result.error)
                continue
            ingested[lease.visit_id] = result
            log.info(
                "%s: visit=%s generation=%d samples=%d seconds=%.3f together=%d",
                result.outcome, lease.visit_id, lease.generation, result.samples, took, len(waiting),
            )  # fmt: skip
        if ingested:
            self._watcher(
                CapturesIngested(
                    outcomes=tuple(result.outcome for result in ingested.values()),
                    reprocessed=sum(lease.generation > 1 for lease in waiting if lease.visit_id in ingested),
                    samples=sum(result.samples for result in ingested.values()),
                    facts=sum(result.facts for result in ingested.values()),
                    seconds=took,
                )
            )
        self._note_binaries(
            report
            for lease, item in read.items()
            if lease.visit_id in ingested
            for report in item.resolved.binaries
        )
        return ingested.get(visit_id)

    def _lease(self, visit_id: UUID) -> list[Lease]:
        """The lease of the capture, if it is available, and those of others that wait."""
        terms = self._terms
        with self._engine.begin() as connection:
            first = lease_first(
                connection, visit_id, seconds=terms.seconds, attempts_limit=terms.attempts_limit
            )
            if first is None:
                return []
            if first.attempt > 1 or terms.batch < 2:
                return [first]  # it may have killed its worker: no other capture shares that risk
            others = lease_waiting(
                connection,
                first,
                seconds=terms.seconds,
                limit=terms.batch - 1,
                raw_bytes=terms.batch_bytes,
            )
        return [first, *others]

    def _read_all(self, leases: Iterable[Lease], held: LeaseRenewal) -> dict[Lease, ToIngest]:
        """The captures with named frames; failures are recorded and left out."""
        read = {}
        for lease in leases:
            try:
                capture = decode_capture(self._blob(lease))
                resolved = self._resolver.resolve(capture)
                read[lease] = ToIngest(lease.visit_id, lease.generation, capture, resolved)
            except Exception as error:  # noqa: BLE001 - any failure is recorded, and the other captures go on
                held.stop_renewing(lease)
                self._failed(lease, error)
        return read

    def _blob(self, lease: Lease) -> bytes:
        blob = self._archive.get(lease.blob, limit=lease.bytes)
        if hashlib.sha256(blob).digest() != lease.sha256:
            raise BadCapture(
                f"The blob {lease.blob} differs from the archived one: its SHA-256 does not match."
            )
        return blob

    def _failed(self, lease: Lease, error: Exception) -> None:
        """Quarantine the capture, or release it with the reason."""
        visit_id = lease.visit_id
        hopeless = isinstance(error, BadCapture | BlobTooLarge)
        self._watcher(CaptureFailed(error, quarantined=hopeless))
        if hopeless:
            why = str(error)
            log.warning("quarantined: visit=%s why=%s", visit_id, why)
            newer = error.found if isinstance(error, FormatTooNew) else None
            self._note(lambda connection: captures.quarantined(connection, visit_id, why, newer_format=newer))
            return
        why = _sentence(error)
        log.warning("failed: visit=%s attempt=%d why=%s", visit_id, lease.attempt, why, exc_info=error)
        counts = not isinstance(error, TRANSIENT_ERRORS)
        self._note(
            lambda connection: release(connection, visit_id, why=why, attempt=lease.attempt, counts=counts)
        )

    def _note_binaries(self, reports: Iterable[BinaryReport]) -> None:
        """Record changes of binaries' symbols, and have captures reprocessed that have worse ones."""
        news = [report for report in reports if self._noted.get(report.key) != report]
        if not news:
            return
        try:
            with self._engine.begin() as connection:
                better = note_symbols(connection, news)
                _ingest_again(connection, better)
        except DatabaseError as error:
            log.warning("not recorded: binaries=%d why=%s", len(news), error)
            return
        for report in better:
            self._has_better(report.key)
        if len(self._noted) > MAX_NOTED:
            self._noted.clear()
        self._noted.update((report.key, report) for report in news)

    def _note(self, write: Callable[[Connection], None]) -> None:
        with self._engine.begin() as connection:
            write(connection)


def _sentence(error: Exception) -> str:
    if isinstance(error, StorageError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            "Its ingestion needs more memory than the limit of a worker process "
            "(FLEETPROF_WORKER_MEMORY_BYTES)."
        )
    return f"{type(error).__name__}: {error}"


def _holds(item: ToIngest, binary_keys: AbstractSet[str]) -> bool:
    return any(report.key in binary_keys for report in item.resolved.binaries)


def _ingest_again(connection: Connection, better: Iterable[BinaryReport]) -> None:
    """Begin reprocessings for symbols that only this ingestion found: a package installed here, a build."""
    for report in better:
        full = report.status == Status.FULL
        if not is_answered(connection, report.key, with_lines=full):
            reprocessing.begin(connection, report.key, why="Better symbols were found.", nameless=not full)
