"""GIVEN a stream's end WHEN it is set THEN whoever waits or asks is told at once."""

import threading

import pytest

from storage.data.cancellation import Stop
from storage.data.errors import Stopped


def test_it_stays_set():
    stop = Stop()
    stop.check()
    assert not stop.wait(0)
    stop.set()
    stop.set()
    assert stop.wait(60)
    with pytest.raises(Stopped):
        stop.check()


class Connection:
    """As SQLAlchemy has it; says what is cancelled."""

    def __init__(self) -> None:
        self.connection = self.dbapi_connection = self
        self.cancelled = threading.Semaphore(0)
        self.closed = False

    def cancel(self) -> None:
        self.cancelled.release()

    def invalidate(self) -> None:
        self.closed = True


def test_it_cancels_until_the_reader_has_ended():
    """A statement may begin just behind the first cancellation."""
    stop, connection = Stop(), Connection()
    setter = threading.Thread(target=stop.set)

    def read() -> None:
        with stop.cancelling(connection):
            setter.start()
            for _ in range(3):
                assert connection.cancelled.acquire(timeout=60)
            assert setter.is_alive()

    with pytest.raises(Stopped):
        read()
    setter.join(60)
    assert not setter.is_alive()
    assert connection.closed, "the server may get to the last request only at another's statement"


def test_it_cancels_nothing_that_others_do():
    stop, connection = Stop(), Connection()
    with stop.cancelling(connection):
        pass
    stop.set()
    assert not connection.cancelled.acquire(blocking=False)
    assert not connection.closed
