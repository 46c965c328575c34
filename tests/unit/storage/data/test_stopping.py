"""GIVEN a stream's end WHEN it is set THEN whoever waits or asks is told at once."""

import threading

import pytest

from storage.data.errors import Stopped
from storage.data.stopping import Stop


def test_it_stays_set():
    stop = Stop()
    stop.check()
    assert not stop.wait(0)
    stop.set()
    stop.set()
    assert stop.wait(60)
    with pytest.raises(Stopped):
        stop.check()


def test_it_cancels_what_runs_and_only_that():
    cancelled = []

    class Driver:
        def cancel(self) -> None:
            cancelled.append(threading.current_thread().name)

    class Holder:
        dbapi_connection = Driver()

    class Connection:
        connection = Holder()

    stop = Stop()
    with stop.cancelling(Connection()):
        setter = threading.Thread(target=stop.set, name="another")
        setter.start()
        setter.join()
    assert cancelled == ["another"]
    stop.set()
    assert cancelled == ["another"]
