"""A `CacheLedger` in the database and the archive: symbols that one worker built are fetched by the whole fleet."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine

from storage.archive import Archive
from storage.errors import BlobMissing, DatabaseError
from storage.symbols import builds, caches, candidates
from storage.symbols.builds import BuildLease
from storage.symbols.caches import Standing
from storage.symbols.errors import BlobDamaged
from symbolizer.builds.build import BuildSucceeded
from symbolizer.builds.built_symbols import FORMAT
from symbolizer.builds.cache_ledger import producer
from symbolizer.builds.outcome import CacheEntry, NotBuilt

log = logging.getLogger(__name__)

LEASE_S: Final = 60.0
"""Time after a builder's death until another may begin; a running builder renews the lease."""
_POLL_S: Final = 0.1


class FleetLedger:
    """Raises the store's errors; threads may share it."""

    def __init__(self, engine: Engine, archive: Archive, *, lease_s: float = LEASE_S) -> None:
        self._engine = engine
        self._archive = archive
        self._lease_s = lease_s
        self._producer = producer()

    def find(self, key: str) -> CacheEntry | NotBuilt | None:
        """The result recorded for the binary; that of another producer if this one has none."""
        with self._engine.begin() as connection:
            cache = caches.find(connection, key, self._producer)
            states = [] if cache is not None else caches.states(connection, key)
            older = (state.cache for state in states if _is_readable(state.producer))
            cache = cache or next(filter(None, older), None)
            standing = caches.standing(connection, cache) if cache is not None else Standing.REJECTED
            if cache is not None and standing != Standing.REJECTED:
                caches.touch(connection, cache)
                return CacheEntry(
                    cache.sha256,
                    cache.source_sha256 or b"",
                    cache.producer,
                    outdated=cache.producer != self._producer or standing == Standing.SUPERSEDED,
                )
        for state in states:
            until = state.failed_until
            if state.producer == self._producer and until is not None and until > datetime.now(UTC):
                return NotBuilt(state.failure, until.timestamp())
        return None

    @contextmanager
    def claim(self, key: str, source_sha256: bytes, *, wait_s: float) -> Iterator["_FleetClaim | None"]:
        """Lease the row; the lease is released when the builder is stopped."""
        lease = self._lease(key, source_sha256, time.monotonic() + wait_s)
        try:
            yield _FleetClaim(self._engine, self._archive, lease, self._lease_s) if lease else None
        except BaseException:
            if lease is not None:
                self._release(lease)
            raise

    def refusal(self, key: str, source_sha256: bytes) -> NotBuilt | None:
        """The refusal recorded for the file and the binary."""
        with self._engine.connect() as connection:
            why = builds.refusal(connection, key, self._producer, source_sha256)
        if why is None:
            return None
        reason, until = why
        return NotBuilt(reason, until.timestamp() if until is not None else 0.0)

    def fetch(self, key: str, entry: CacheEntry, into: Path) -> bool:
        """Fetch the blob, unpacked and verified."""
        with self._engine.connect() as connection:
            cache = caches.find(connection, key, entry.producer)
        if cache is None or cache.sha256 != entry.sha256:
            return False
        try:
            caches.fetch(self._archive, cache, into)
        except (BlobMissing, BlobDamaged) as error:
            log.warning("rebuilding: binary=%s why=%s", key, error)
            caches.discard_damaged(self._engine, self._archive, cache)
            return False
        return True

    def _lease(self, key: str, source_sha256: bytes, deadline: float) -> BuildLease | None:
        while True:
            with self._engine.begin() as connection:
                lease = self._claim(connection, key, source_sha256)
                is_building = lease is None and any(
                    state.building and state.producer == self._producer
                    for state in caches.states(connection, key)
                )
                if lease is None and not is_building:
                    # The row has been locked since the first try, so the only possible change is that the lease
                    # of a dead builder expired: its build can then be claimed, else there is nothing to do.
                    lease = self._claim(connection, key, source_sha256)
            if lease is not None or not is_building or time.monotonic() >= deadline:
                return lease
            time.sleep(_POLL_S)

    def _claim(self, connection: Connection, key: str, source_sha256: bytes) -> BuildLease | None:
        return builds.claim_build(connection, key, self._producer, self._lease_s, source=source_sha256)

    def _release(self, lease: BuildLease) -> None:
        try:
            with self._engine.begin() as connection:
                builds.release(connection, lease)
        except DatabaseError as error:
            log.warning("lease left to expire: binary=%s why=%s", lease.binary_key, error)


@dataclass(frozen=True, slots=True)
class _FleetClaim:
    engine: Engine
    archive: Archive
    lease: BuildLease
    lease_s: float

    def is_still_claimed(self) -> bool:
        """Renew the lease; a short outage of the database does not end it."""
        try:
            with self.engine.begin() as connection:
                return builds.renew(connection, self.lease, seconds=self.lease_s)
        except DatabaseError:
            return True

    def built(self, finished: Path, made: BuildSucceeded, stored: Iterable[bytes]) -> CacheEntry | None:
        """Store the blob, then the row."""
        cache = builds.finish(
            self.engine,
            self.archive,
            self.lease,
            finished,
            made_of=stored,
            cpu_s=made.cpu_s,
            peak_rss_bytes=made.peak_rss_bytes,
        )
        return (
            None
            if cache is None
            else CacheEntry(cache.sha256, self.lease.source_sha256 or b"", cache.producer)
        )

    def failed(self, failure: NotBuilt, *, unusable: bool) -> bool:
        """End the lease with the reason."""
        rest_s, source = max(failure.until - time.time(), 0.0), self.lease.source_sha256
        with self.engine.begin() as connection:
            is_ours = builds.fail(connection, self.lease, failure.reason, rest_s=rest_s)
            if not (is_ours and unusable and source):
                return False
            return candidates.give_way(connection, self.lease.binary_key, source, failure.reason)


def _is_readable(other: str) -> bool:
    """Whether this program reads the files of another producer: those of the same format."""
    return other.rpartition("+")[2] == str(FORMAT)
