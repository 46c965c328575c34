"""GIVEN a server WHEN a peer stops within a request THEN its connection ends, and idle ones stay as long as configured."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Response
from uvicorn.server import ServerState

from services.api.connection_limits import Connection, Connections
from services.api.connections import CuttableConnection
from tests.polling import until
from tests.threaded_server import listening

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
SOON_S = 0.3
NEVER_S = 3600.0
PLACES = 4
LARGE = b"x" * (16 << 20)
"""More than the kernel keeps for a reader."""
WHOLE = b"GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n"
PLACED = {"keep_alive_s": 3600, "head_s": NEVER_S, "rest_s": NEVER_S}


def answering() -> FastAPI:
    """Reads no body."""
    app = FastAPI()

    @app.get("/")
    @app.post("/")
    async def answer() -> str:
        return "answer"

    @app.get("/whole")
    async def whole() -> Response:
        return Response(LARGE)

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


@pytest.mark.slow
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


def is_answered(port: int) -> bool:
    try:
        with calling(port) as caller:
            caller.sendall(HEAD + b"Connection: close\r\n\r\n")
            return b'"answer"' in heard(caller)
    except OSError:
        return False


def asking(port: int, sent: bytes, opened: ExitStack) -> socket.socket:
    """Reads nothing yet but the beginning of the answer, and has little room for more."""
    caller = opened.enter_context(socket.socket())
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    caller.settimeout(20)
    caller.connect(("127.0.0.1", port))
    caller.sendall(sent)
    assert caller.recv(5) == b"HTTP/"
    return caller


@pytest.mark.parametrize("requests", [1, 20])
def test_answers_that_are_not_read_make_room(requests: int):
    connections = Connections(PLACES, PLACES)
    with (
        listening(answering(), connections=connections, unread_s=SOON_S, **PLACED) as port,
        ExitStack() as opened,
    ):
        for _ in range(PLACES):
            asking(port, WHOLE * requests, opened)
        until(lambda: is_answered(port), "another is answered", seconds=20)


def test_an_answer_under_way_keeps_its_place_after_the_application_has_written_all_of_it():
    connections = Connections(PLACES, PLACES)
    with (
        listening(answering(), connections=connections, unread_s=NEVER_S, **PLACED) as port,
        ExitStack() as opened,
    ):
        reader = asking(port, WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), opened)
        for _ in range(PLACES):
            opened.enter_context(calling(port))
        assert is_answered(port)
        said = bytearray()
        while piece := reader.recv(1 << 16):
            said += piece
        assert said.endswith(LARGE)


class Transport(asyncio.Transport):
    """Has as much unsent as the test says."""

    unsent = 1 << 20

    def __init__(self, connection: socket.socket) -> None:
        super().__init__({"socket": connection, "peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})

    def get_write_buffer_size(self) -> int:
        return self.unsent


class Later(asyncio.SelectorEventLoop):
    """What is to be called later is called when the test says."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, **_: Any) -> Any:
        timer = asyncio.TimerHandle(delay, callback, args, self)
        self.timers = [*(each for each in getattr(self, "timers", []) if not each.cancelled()), timer]
        return timer

    def pass_by(self, delay: float) -> None:
        """The one timer of so many seconds is over."""
        (due,) = (each for each in self.timers if each.when() == delay and not each.cancelled())
        self.timers.remove(due)
        due._run()


class Noting(Connections):
    """For one connection."""

    working = False

    def waits(self, number: int) -> None:
        super().waits(number)
        self.working = False

    def works(self, number: int) -> None:
        super().works(number)
        self.working = True


def test_a_place_is_kept_by_progress_and_not_by_time():
    connections = Noting(1, 1)
    loop = Later()
    near, far = socket.socketpair()
    connection = Connection(near.family, near.type, near.proto, fileno=near.detach()).join(
        connections, "local"
    )
    config = uvicorn.Config(answering(), log_config=None)
    protocol = CuttableConnection(
        config, ServerState(), {}, loop, connections=connections, unread_s=30, head_s=NEVER_S
    )

    with closing(loop), connection, far:
        assert connections.enter(connection)
        transport = Transport(connection)
        protocol.connection_made(transport)
        protocol.pause_writing()
        assert connections.working, "it has only begun"
        for progress, stalled in ((16 << 10, False), (100, True), (0, True), (20 << 10, False), (0, True)):
            transport.unsent -= progress
            loop.pass_by(30)
            assert connections.working != stalled, progress
        protocol.data_received(b"GET")
        assert not connections.working, "what comes is no sign that it reads"
        transport.unsent = 0
        protocol.resume_writing()
        assert not connections.working, "all is sent, and no request is under way"
        assert [each.when() for each in loop.timers if not each.cancelled()] == [NEVER_S]
        protocol.connection_lost(ConnectionResetError())
