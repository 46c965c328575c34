"""GIVEN a server WHEN a peer stops within a request THEN its connection ends, and idle ones stay as long as configured."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi import FastAPI

from tests.listening import listening

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
SOON_S = 0.3
NEVER_S = 3600.0


def answering() -> FastAPI:
    """Reads no body."""
    app = FastAPI()

    @app.get("/")
    @app.post("/")
    async def answer() -> str:
        return "answer"

    return app


@contextmanager
def calling(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as caller:
        yield caller


def heard(caller: socket.socket) -> bytes:
    """All that comes until the connection ends. Raises TimeoutError when it does not."""
    said = b""
    try:
        while piece := caller.recv(4096):
            said += piece
    except ConnectionResetError:
        pass
    return said


def answered(caller: socket.socket) -> None:
    """Until one answer has come."""
    said = b""
    while b'"answer"' not in said:
        piece = caller.recv(4096)
        assert piece
        said += piece


@pytest.mark.parametrize("sent", [b"", b"G", HEAD], ids=["nothing", "a letter", "half a head"])
def test_a_head_that_is_not_complete_in_time_ends_the_connection(sent: bytes):
    with listening(answering(), head_s=SOON_S, rest_s=NEVER_S) as port, calling(port) as caller:
        caller.sendall(sent)
        assert heard(caller) == b""


def test_a_second_head_has_no_more_time_than_the_first():
    with (
        listening(answering(), keep_alive_s=3600, head_s=SOON_S, rest_s=NEVER_S) as port,
        calling(port) as caller,
    ):
        caller.sendall(HEAD + b"\r\n")
        answered(caller)
        caller.sendall(HEAD)
        assert heard(caller) == b""


def test_pieces_of_a_head_do_not_move_its_time():
    with listening(answering(), head_s=SOON_S, rest_s=NEVER_S) as port, calling(port) as caller:
        caller.settimeout(SOON_S / 4)
        said = None
        for _ in range(1000):  # a piece every quarter of the time, for as long as it may take
            try:
                caller.sendall(b"X")
                said = caller.recv(4096)
            except TimeoutError:
                continue
            except OSError:
                said = b""
            break
        assert said == b""


def test_a_body_that_is_answered_and_does_not_come_ends_the_connection():
    with (
        listening(answering(), keep_alive_s=3600, head_s=NEVER_S, rest_s=SOON_S) as port,
        calling(port) as caller,
    ):
        caller.sendall(BODY)
        answered(caller)
        caller.sendall(b"x")
        assert heard(caller) == b""


def test_an_idle_connection_stays_as_long_as_configured():
    times = {"head_s": SOON_S, "rest_s": SOON_S}
    with listening(answering(), keep_alive_s=3600, **times) as port, calling(port) as caller:
        for request in (HEAD + b"\r\n", BODY + b"x" * 1000, HEAD + b"\r\n"):
            caller.sendall(request)
            answered(caller)
            caller.settimeout(3 * SOON_S)
            with pytest.raises(TimeoutError):
                caller.recv(1)
            caller.settimeout(20)


def test_a_connection_whose_body_comes_behind_the_answer_is_idle_then():
    with (
        listening(answering(), keep_alive_s=1, head_s=NEVER_S, rest_s=NEVER_S) as port,
        calling(port) as caller,
    ):
        caller.sendall(BODY)
        answered(caller)
        caller.sendall(b"x" * 1000)
        assert heard(caller) == b""
