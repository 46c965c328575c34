"""The lease of a running collector, renewed on a separate thread, independently of the event loop and the executor."""

import threading
from datetime import timedelta
from uuid import UUID, uuid4

import structlog
from sqlalchemy import Engine

from storage import collector_leases
from storage.errors import StorageError

_RENEWALS = 4
"""Renewals per length of the lease: three of them may fail before it expires."""

_log = structlog.get_logger("collector")


class Lease:
    """Shows other collectors that this one runs and will make its visits (`storage.collector_leases`)."""

    def __init__(self, engine: Engine, length_s: float) -> None:
        """`length_s`: if it is not renewed for this long, other collectors end this one's visits as lost."""
        self.collector_id: UUID = uuid4()
        self.length = timedelta(seconds=length_s)
        self._engine = engine
        self._pause_s = length_s / _RENEWALS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_ended, name="collector-lease", daemon=True)

    def renew(self) -> None:
        """Renew the lease now. Raises `StorageError`."""
        with self._engine.begin() as connection:
            collector_leases.renew(connection, self.collector_id, self.length)

    def start(self) -> None:
        """Renew the lease now and start the thread. Raises `StorageError`."""
        self.renew()
        if self._thread.ident is None:
            self._thread.start()

    def end(self) -> None:
        """Stop renewing, and release the lease if the database is reachable; visits still open then have no owner."""
        self._ended.set()
        if self._thread.ident is None:
            return
        self._thread.join()
        try:
            with self._engine.begin() as connection:
                collector_leases.release(connection, self.collector_id)
        except StorageError as error:
            _log.info("the lease is left to expire", why=str(error))

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(self._pause_s):
            try:
                self.renew()
            except StorageError as error:
                _log.warning("the collector's lease was not renewed", why=str(error))
