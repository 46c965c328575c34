"""The database as streams read it: in short snapshots, a few at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.data.cancellation import Stop
from storage.database import snapshot
from storage.errors import DatabaseError

AT_ONCE = 4
"""Pages that are read at the same time; each holds a connection, and the memory of a page."""
STATEMENT_S = 30
"""Longest statement of a stream; past it `DatabaseBusy`."""
_LOOK_S = 0.2


class Source:
    """Snapshots for all streams of a process. Safe to share between threads; the engine stays its owner's."""

    def __init__(self, engine: Engine, *, at_once: int = AT_ONCE) -> None:
        self._engine = engine
        self._places = threading.BoundedSemaphore(at_once)

    @contextmanager
    def reading(self, stop: Stop) -> Iterator[Connection]:
        """One snapshot, whose turn is waited for.

        Raises `DatabaseError`, and `storage.data.errors.Stopped` instead of what a cancelled statement says.
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
