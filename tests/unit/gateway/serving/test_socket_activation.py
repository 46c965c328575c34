"""GIVEN servers that end, fail or cannot start WHEN somebody calls THEN nobody is left hanging and nothing is lost."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.serving.connections import Listener
from gateway.serving.socket_activation import SocketActivator
from tests.handshakes import client_hello
from tests.polling import until

SIZE = 300 << 10
"""What the relay and the server's socket hold of it, while the caller takes nothing."""
PATIENCE_S = 30.0


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as public:
        public.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        yield Listener(public, tmp_path / "0.sock")


def server(listener: Listener, answer: Callable[[socket.socket], None]) -> Callable[[int], int]:
    """What a forked child does: say that it is ready, answer one caller, and end well, as one that retires."""

    def serve(told: int) -> int:
        listener.inner.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as inner:
            inner.bind(str(listener.inner))
            inner.listen(8)
            os.write(told, b"\n")
            os.close(told)
            answer(inner.accept()[0])
        return 0

    return serve


def meanwhile(act: Callable[[], object], *, then_stop: bool = True) -> Callable[[], None]:
    """For `on_ready`: do this in a thread, which a doorman that runs must not wait for; then end the doorman."""

    def run() -> None:
        try:
            act()
        finally:
            if then_stop:
                os.kill(os.getpid(), signal.SIGTERM)

    return lambda: threading.Thread(target=run, daemon=True).start()


def children() -> str:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()


@pytest.mark.parametrize("exit_when_idle", [False, True])
def test_a_server_that_retires_loses_nothing_of_what_it_sent(listener: Listener, exit_when_idle: bool):
    got: list[object] = []
    others = children()

    def call() -> None:
        with socket.socket() as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            caller.settimeout(PATIENCE_S)
            caller.connect(listener.public.getsockname())
            caller.sendall(client_hello())
            until(lambda: children() == others, "the server has ended")
            caller.sendall(b"window update")
            total = 0
            try:
                while data := caller.recv(65536):
                    total += len(data)
            except OSError as error:
                got.append(error)
            got.append(total)

    doorman = SocketActivator(
        [listener],
        server(listener, lambda caller: caller.sendall(b"x" * SIZE)),
        idle_s=PATIENCE_S,
        busy=lambda: False,
        on_ready=meanwhile(call, then_stop=not exit_when_idle),
        exit_when_idle=exit_when_idle,
    )
    assert doorman.run() == 0
    until(lambda: got, "the caller has it all")
    assert got == [SIZE]


def test_a_first_start_that_fails_turns_away_who_waits(listener: Listener, caplog: pytest.LogCaptureFixture):
    """In a socket unit's socket a caller who is left waiting has systemd start the service again at once."""
    with socket.create_connection(listener.public.getsockname(), PATIENCE_S) as caller:
        doorman = SocketActivator(
            [listener],
            lambda _: 3,
            idle_s=PATIENCE_S,
            busy=lambda: False,
            on_ready=lambda: None,
            exit_when_idle=True,
        )
        with caplog.at_level(logging.WARNING, "gateway.socket_activation"):
            assert doorman.run() == 3
        assert caller.recv(1) == b""
    assert [record.message for record in caplog.records] == ["connections closed without service"]
    with pytest.raises(BlockingIOError):
        listener.public.accept()


def test_a_later_start_that_cannot_be_prepared_is_said_and_tried_again(
    listener: Listener, caplog: pytest.LogCaptureFixture
):
    prepared: list[int] = []
    got: list[bytes] = []
    others = children()

    def prepare() -> None:
        prepared.append(1)
        if len(prepared) == 2:
            raise FileExistsError("the folder is another's")

    def call() -> None:
        # Who calls while others are turned away may be turned away with them.
        while got.count(b"hello") < 2:
            with socket.create_connection(listener.public.getsockname(), PATIENCE_S) as caller:
                caller.sendall(client_hello())
                got.append(caller.recv(16))
            until(lambda: children() == others, "the server has ended")

    doorman = SocketActivator(
        [listener],
        server(listener, lambda caller: caller.sendall(b"hello")),
        idle_s=PATIENCE_S,
        busy=lambda: False,
        on_ready=meanwhile(call),
        prepare=prepare,
    )
    with caplog.at_level(logging.ERROR, "gateway.socket_activation"):
        assert doorman.run() == 0
    assert got[0] == got[-1] == b"hello"
    assert set(got[1:-1]) == {b""}
    assert [record.fields["why"] for record in caplog.records] == ["the folder is another's"]
