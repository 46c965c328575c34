"""Ending a stream from another thread: what it waits for and what it asks the database end at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg2
from sqlalchemy import Connection

from storage.data.errors import Stopped


class Stop:
    """A stream's end. Safe to share between threads; once set it stays so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._cancel: Callable[[], None] | None = None

    @property
    def is_set(self) -> bool:
        """Whether the stream is to end."""
        return self._set.is_set()

    def set(self) -> None:
        """End it: a statement that runs is cancelled, so its connection is free again."""
        with self._lock:
            self._set.set()
            if self._cancel is not None:
                with suppress(psycopg2.Error):  # the connection is gone, and with it the statement
                    self._cancel()

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until it is set; whether it is."""
        return self._set.wait(seconds)

    def check(self) -> None:
        """Raises `Stopped` if it is set."""
        if self.is_set:
            raise Stopped("The stream was ended.")

    @contextmanager
    def cancelling(self, connection: Connection) -> Iterator[None]:
        """Have what this connection is asked inside be cancelled by `set`."""
        driver = connection.connection.dbapi_connection
        assert driver is not None
        with self._lock:
            self._cancel = driver.cancel
        try:
            yield
        finally:
            # Before the connection goes back: whoever has it next must not be cancelled.
            with self._lock:
                self._cancel = None
