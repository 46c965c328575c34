"""One capture's way from the archive into the store: lease, read, resolve, land.

Whatever fails, PostgreSQL still says what remains to be done: a failure gives the lease back with its
reason and the collector's sweep sends the capture again; one that can never land is set aside.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, Engine

from storage import captures
from storage.archive import Archive
from storage.binaries import note_symbols
from storage.captures import Lease
from storage.errors import ArchiveUnavailable, BadCapture, BlobTooLarge, DatabaseError, StorageError
from storage.landing.decode import decode_capture
from storage.landing.interning import Interner
from storage.landing.land import Landed, land
from storage.landing.resolved import BinaryReport
from symbolizer.resolve import Resolver

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How long a capture is a worker's, and how often one is tried."""

    seconds: float = 30.0
    """After a worker died this long passes before another may take its capture; one that lives renews it."""
    attempts_limit: int = 5
    """A capture that failed this often is set aside with its last reason."""


DEFAULT_TERMS: Final = LeaseTerms()
PASSING: Final = (ArchiveUnavailable, DatabaseError)
"""Failures that say nothing about the capture: it may wait for them to pass, however long that takes."""
MAX_NOTED: Final = 10_000
"""Binaries a process remembers to have reported on."""


class Lander:
    """Lands captures, one at a time. For one thread: what it remembers is its own."""

    def __init__(
        self, engine: Engine, archive: Archive, resolver: Resolver, *, terms: LeaseTerms = DEFAULT_TERMS
    ) -> None:
        self._engine = engine
        self._archive = archive
        self._resolver = resolver
        self._interner = Interner(engine)
        self._terms = terms
        self._noted: dict[str, BinaryReport] = {}

    def land(self, visit_id: UUID) -> Landed | None:
        """Land the capture; None: there was nothing to do, or it failed and that is noted.

        Raises `DatabaseError` only when the failure itself could not be noted; the lease then runs out.
        """
        with self._engine.begin() as connection:
            lease = captures.lease(
                connection, visit_id, seconds=self._terms.seconds, attempts_limit=self._terms.attempts_limit
            )
        if lease is None:
            log.info("nothing to land: visit=%s", visit_id)
            return None
        started = time.monotonic()
        try:
            with self._held(lease):
                landed = self._land(lease)
        except (BadCapture, BlobTooLarge) as error:
            why = str(error)
            log.warning("set aside: visit=%s why=%s", visit_id, why)
            self._note(lambda connection: captures.set_aside(connection, visit_id, why))
        except Exception as error:
            why = str(error) if isinstance(error, StorageError) else f"{type(error).__name__}: {error}"
            log.warning("failed: visit=%s attempt=%d why=%s", visit_id, lease.attempt, why, exc_info=error)
            counts = not isinstance(error, PASSING)
            self._note(
                lambda connection: captures.release(
                    connection, visit_id, why=why, attempt=lease.attempt, counts=counts
                )
            )
        else:
            log.info(
                "%s: visit=%s generation=%d samples=%d seconds=%.3f",
                landed.outcome, visit_id, lease.generation, landed.samples, time.monotonic() - started,
            )  # fmt: skip
            return landed
        return None

    def _land(self, lease: Lease) -> Landed:
        blob = self._archive.get(lease.blob, limit=lease.bytes)
        if hashlib.sha256(blob).digest() != lease.sha256:
            raise BadCapture(f"The blob {lease.blob} is not the one that was archived: its SHA-256 differs.")
        capture = decode_capture(blob)
        resolved = self._resolver.resolve(capture)
        landed = land(self._engine, self._interner, lease.visit_id, lease.generation, capture, resolved)
        self._note_binaries(resolved.binaries)
        return landed

    @contextmanager
    def _held(self, lease: Lease) -> Iterator[None]:
        """Renew the lease, from a thread, while inside: a cold debug file may take minutes to read."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._terms.seconds / 3):
                try:
                    with self._engine.begin() as connection:
                        if not captures.renew(connection, lease, seconds=self._terms.seconds):
                            return
                except DatabaseError as error:  # the landing meets it too, and says what becomes of it
                    log.warning("lease not renewed: visit=%s why=%s", lease.visit_id, error)

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _note_binaries(self, reports: Iterable[BinaryReport]) -> None:
        """Tell the store what is new about binaries' symbols; it matters to nobody's numbers."""
        news = [report for report in reports if self._noted.get(report.key) != report]
        if not news:
            return
        try:
            self._note(lambda connection: note_symbols(connection, news))
        except DatabaseError as error:
            log.warning("not noted: binaries=%d why=%s", len(news), error)
            return
        if len(self._noted) > MAX_NOTED:
            self._noted.clear()
        self._noted.update((report.key, report) for report in news)

    def _note(self, write: Callable[[Connection], None]) -> None:
        with self._engine.begin() as connection:
            write(connection)
