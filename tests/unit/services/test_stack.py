"""GIVEN a port that is taken WHEN `up` starts THEN one that was asked for is an error, and the usual one gives way."""

import socket

import pytest

from services.errors import CannotStart
from services.stack import _free_port


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_port_that_was_asked_for_and_is_taken_is_said(taken: int):
    with pytest.raises(CannotStart, match=rf"Port {taken} .* --port"):
        _free_port(taken, explicit=True)


def test_the_usual_port_gives_way(taken: int):
    assert _free_port(taken, explicit=False) not in {0, taken}


def test_a_free_port_is_taken_as_it_is(taken: int):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert _free_port(port, explicit=True) == port
    assert _free_port(0, explicit=True) not in {0, taken}
