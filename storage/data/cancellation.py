"""Stops a stream from another thread, including its waits and running statements."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg2
from sqlalchemy import Connection

from storage.data.errors import Stopped

_AGAIN_S = 0.1


class Stop:
    """The stop signal of a stream. Safe to share between threads; it cannot be reset."""

    def __init__(self) -> None:
        self._reading = threading.Condition()
        self._set = threading.Event()
        self._cancel: Callable[[], None] | None = None
        self._cancelled = False

    @property
    def is_set(self) -> bool:
        """Whether the stream is to stop."""
        return self._set.is_set()

    def set(self) -> None:
        """Stop the stream: cancel the running statement and return once its connection is free.

        Blocks until the reader has stopped, so do not call it in a thread that others depend on.
        """
        self._set.set()
        with self._reading:
            while self._cancel is not None:
                self._cancelled = True
                with suppress(psycopg2.Error):  # the connection is lost, and so is the statement
                    self._cancel()
                # Between two statements there is nothing to cancel, and the next one may block on a lock.
                self._reading.wait(_AGAIN_S)

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds` or until it is set; return whether it is."""
        return self._set.wait(seconds)

    def check(self) -> None:
        """Raise `Stopped` if it is set."""
        if self.is_set:
            raise Stopped("The stream was ended.")

    @contextmanager
    def cancelling(self, connection: Connection) -> Iterator[None]:
        """Let `set` cancel statements of this connection within the block.

        A connection with a cancelled statement is closed: the server may handle the cancel request only when the
        next statement runs, which may be another stream's. Raises `Stopped` then, unless another error is raised.
        """
        driver = connection.connection.dbapi_connection
        assert driver is not None
        with self._reading:
            self._cancel = driver.cancel
        try:
            yield
        finally:
            # Before the connection is returned to the pool: its next user must not be cancelled.
            with self._reading:
                self._cancel = None
                self._reading.notify_all()
            if self._cancelled:
                connection.invalidate()
        if self._cancelled:
            self.check()
