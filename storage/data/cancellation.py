"""Ending a stream from another thread: what it waits for and what it asks the database end at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg2
from sqlalchemy import Connection

from storage.data.errors import Stopped

_AGAIN_S = 0.1


class Stop:
    """A stream's end. Safe to share between threads; once set it stays so."""

    def __init__(self) -> None:
        self._reading = threading.Condition()
        self._set = threading.Event()
        self._cancel: Callable[[], None] | None = None
        self._cancelled = False

    @property
    def is_set(self) -> bool:
        """Whether the stream is to end."""
        return self._set.is_set()

    def set(self) -> None:
        """End it: a statement that runs is cancelled, so that its connection is free again when this returns.

        Waits for the reader, so it is not for a thread that others depend on.
        """
        self._set.set()
        with self._reading:
            while self._cancel is not None:
                self._cancelled = True
                with suppress(psycopg2.Error):  # the connection is gone, and with it the statement
                    self._cancel()
                # Between two statements there is nothing to cancel, and the next one may wait for a lock.
                self._reading.wait(_AGAIN_S)

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until it is set; whether it is."""
        return self._set.wait(seconds)

    def check(self) -> None:
        """Raises `Stopped` if it is set."""
        if self.is_set:
            raise Stopped("The stream was ended.")

    @contextmanager
    def cancelling(self, connection: Connection) -> Iterator[None]:
        """Have what this connection is asked inside be cancelled by `set`.

        One on which something was cancelled is closed: the server may get to the request only when the next
        statement runs, which is another's. Raises `Stopped` then, if nothing else is raised.
        """
        driver = connection.connection.dbapi_connection
        assert driver is not None
        with self._reading:
            self._cancel = driver.cancel
        try:
            yield
        finally:
            # Before the connection goes back: whoever has it next must not be cancelled.
            with self._reading:
                self._cancel = None
                self._reading.notify_all()
            if self._cancelled:
                connection.invalidate()
        if self._cancelled:
            self.check()
