"""Renews a worker's leases on a thread: a cold debug file may take minutes to read."""

import logging
import threading
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from sqlalchemy import Engine

from storage.errors import DatabaseError
from storage.leases import Lease, renew

log = logging.getLogger(__name__)


class LeaseRenewal:
    """Renews the leases for `seconds` each while the context is open, until `stop_renewing`."""

    def __init__(self, engine: Engine, leases: Iterable[Lease], *, seconds: float) -> None:
        self._engine = engine
        self._seconds = seconds
        self._held = list(leases)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew_all, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def stop_renewing(self, lease: Lease) -> None:
        """Stop renewing the lease. Call it before the lease is released: a renewal would take it again."""
        with self._lock:
            if lease in self._held:
                self._held.remove(lease)

    def _renew_all(self) -> None:
        while not self._done.wait(self._seconds / 3):
            with self._lock:
                held = list(self._held)
            if not held:
                return
            for lease in held:
                with self._lock:
                    if lease in self._held:
                        self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        # One transaction each: a transaction that waits for one lease does not delay the others.
        try:
            with self._engine.begin() as connection:
                if not renew(connection, lease, seconds=self._seconds):
                    self._held.remove(lease)
        except DatabaseError as error:  # the ingestion meets it too, and handles it
            log.warning("lease not renewed: visit=%s why=%s", lease.visit_id, error)
