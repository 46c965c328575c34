"""Database access of streams: short snapshots, with bounded concurrency."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.data.cancellation import Stop
from storage.database import snapshot
from storage.errors import DatabaseError

AT_ONCE = 4
"""Pages read concurrently; each holds a connection and the memory of a page."""
STATEMENT_S = 30
"""Longest statement of a stream; longer ones raise `DatabaseBusy`."""
_LOOK_S = 0.2


class Source:
    """Snapshots for all streams of a process. Safe to share between threads; the caller owns the engine."""

    def __init__(self, engine: Engine, *, at_once: int = AT_ONCE) -> None:
        self._engine = engine
        self._places = threading.BoundedSemaphore(at_once)

    @contextmanager
    def reading(self, stop: Stop) -> Iterator[Connection]:
        """One snapshot, opened when a slot is free.

        Raises `DatabaseError`; a cancelled statement raises `storage.data.errors.Stopped`.
        """
        stop.check()
        while not self._places.acquire(timeout=_LOOK_S):
            stop.check()
        try:
            with snapshot(self._engine) as connection, stop.cancelling(connection):
                stop.check()
                connection.execute(text(f"SET LOCAL statement_timeout = {STATEMENT_S * 1000}"))
                partitions.keep(connection)
                yield connection
        except DatabaseError:
            stop.check()
            raise
        finally:
            self._places.release()
