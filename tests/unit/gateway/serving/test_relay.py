import select
import selectors
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.serving.relay import Relay

BUFFER = 256 << 10


class Line:
    """A relay with both far ends in hand; `turn` lets it work until it would wait."""

    def __init__(self, caller: tuple[socket.socket, socket.socket] | None = None) -> None:
        self.selector = selectors.DefaultSelector()
        self.caller, caller_end = caller or socket.socketpair()
        self.server, server_end = socket.socketpair()
        self.heard = 0
        self.ended = 0
        for end in (self.caller, self.server):
            end.setblocking(False)
        self.relay = Relay(self.selector, caller_end, server_end, self.hear, self.end)

    def hear(self) -> None:
        self.heard += 1

    def end(self, _: Relay) -> None:
        self.ended += 1

    def turn(self, most: int = 10_000) -> None:
        for _ in range(most):
            ready = self.selector.select(0)
            if not ready:
                return
            for key, mask in ready:
                key.data(mask)
        pytest.fail("the relay is always ready: a busy loop")

    def close(self) -> None:
        self.relay.close()
        self.caller.close()
        self.server.close()
        self.selector.close()


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    yield line
    line.close()


@pytest.fixture
def tcp_line() -> Iterator[Line]:
    """The caller comes by TCP, where closing with something unread resets the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        caller = socket.create_connection(listening.getsockname())
        line = Line((caller, listening.accept()[0]))
    yield line
    line.close()


def received(end: socket.socket) -> bytes:
    """What is there; then b"" both for the end and for nothing more as yet."""
    parts = []
    try:
        while data := end.recv(1 << 20):
            parts.append(data)
    except BlockingIOError:
        pass
    return b"".join(parts)


def send_until_full(line: Line, end: socket.socket) -> int:
    """Send while the other side takes nothing; the bytes that fitted on the way."""
    sent = 0
    while True:
        try:
            sent += end.send(b"x" * 65536)
        except BlockingIOError:
            before = sent
            line.turn()
            try:
                sent += end.send(b"x" * 65536)
            except BlockingIOError:
                assert sent == before
                return sent


def test_bytes_go_both_ways(line: Line):
    line.caller.send(b"plan")
    line.turn()
    assert received(line.server) == b"plan"
    line.server.send(b"capture")
    line.turn()
    assert received(line.caller) == b"capture"
    assert line.heard == 2


@pytest.mark.parametrize("leaving", ["caller", "server"])
def test_when_either_side_ends_the_other_hears_of_it_once(line: Line, leaving: str):
    staying = line.server if leaving == "caller" else line.caller
    getattr(line, leaving).send(b"last words")
    getattr(line, leaving).close()
    line.turn()
    assert received(staying) == b"last words"
    assert staying.recv(1) == b""
    line.relay.close()
    assert line.ended == 1
    assert not line.selector.get_map()


def test_a_caller_that_takes_nothing_costs_a_buffer_and_no_cpu(line: Line):
    sent = send_until_full(line, line.server)
    assert sent >= BUFFER
    line.turn(most=0 + 1)  # one look: nothing is ready
    taken = len(received(line.caller))
    while taken < sent:
        line.turn()
        more = received(line.caller)
        assert more
        taken += len(more)
    assert taken == sent


def test_what_was_sent_before_the_end_arrives_however_slowly_it_is_taken(line: Line):
    sent = send_until_full(line, line.server)
    line.server.close()
    line.turn()
    taken = 0
    while data := line.caller.recv(50_000):
        taken += len(data)
        line.turn()
    assert taken == sent
    assert line.ended == 0, "a connection that is closed with something unread is reset"
    line.caller.close()
    line.turn()
    assert line.ended == 1


@pytest.mark.parametrize("told", [False, True])
def test_a_caller_that_goes_on_talking_gets_all_that_was_sent_before_the_end(tcp_line: Line, told: bool):
    """gRPC's callers answer what they receive (window updates): so there is always something unread."""
    line = tcp_line
    sent = send_until_full(line, line.server)
    line.server.close()
    if told:
        line.relay.finish()
    taken = 0
    data = b"some"
    while data:
        line.caller.send(b"window update")
        line.turn()
        # The kernel carries it in its own time.
        while not select.select([line.caller], [], [], 0.01)[0]:
            line.turn()
        data = line.caller.recv(50_000)
        taken += len(data)
    assert taken == sent
    assert line.ended == 0
    line.caller.close()
    while not line.ended:
        assert line.selector.select(30)
        line.turn()
    assert line.ended == 1
    assert not line.selector.get_map()


def test_what_a_caller_says_after_the_end_costs_no_memory(line: Line):
    line.server.close()
    line.relay.finish()
    for _ in range(8):
        assert line.caller.send(b"x" * 65536)
        line.turn()
    assert line.relay.draining_since is not None
    assert line.caller.recv(1) == b""


def test_a_reset_ends_it(line: Line):
    send_until_full(line, line.server)
    line.caller.close()
    line.turn()
    assert line.ended == 1


def test_the_last_answer_of_a_server_that_ended_is_handed_on(line: Line):
    line.server.send(b"refusal")
    line.server.close()
    line.relay.finish()
    assert received(line.caller) == b"refusal"
    assert line.caller.recv(1) == b""
    line.caller.close()
    line.turn()
    assert line.ended == 1


@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=70_000)), max_size=12))
def test_nothing_is_lost_or_reordered(sends: list[tuple[bool, bytes]]):
    line = Line()
    try:
        there, back = bytearray(), bytearray()
        want_there, want_back = bytearray(), bytearray()
        for from_caller, data in sends:
            end = line.caller if from_caller else line.server
            sent = end.send(data)
            (want_there if from_caller else want_back).extend(data[:sent])
            line.turn()
            there += received(line.server)
            back += received(line.caller)
        assert (there, back) == (want_there, want_back)
    finally:
        line.close()
