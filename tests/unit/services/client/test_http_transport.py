"""GIVEN a server of HTTP WHEN it redirects, is busy or is left THEN no token goes elsewhere and callers are told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fleetpb import data_pb2
from services.client import connect
from services.client.errors import Broken, Closed, Refused
from services.data_api.framing import Framing


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *said: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused(status: int):
    came: list[str | None] = []

    def other(request: BaseHTTPRequestHandler) -> None:
        came.append(request.headers["Authorization"])
        request.send_error(400)

    with answering(other) as elsewhere:

        def redirect(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            request.send_header("Location", f"{elsewhere}/login")
            request.end_headers()

        with answering(redirect) as url, connect(url, token="secret") as client:
            with pytest.raises(Refused, match=f"{elsewhere}/login"):
                client.ask("table")
            with pytest.raises(Refused, match="Redirects are not followed"):
                list(client.profiles())
    assert came == []


def test_what_passes_says_when_to_come_again():
    def busy(request: BaseHTTPRequestHandler) -> None:
        content = b'{"detail": "All places are taken.", "hint": "Come again."}'
        request.send_response(429)
        request.send_header("Retry-After", "7")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    with (
        answering(busy) as url,
        connect(url, retries=0) as client,
        pytest.raises(Broken, match=r"taken.* Come again") as broken,
    ):
        list(client.profiles())
    assert (broken.value.hint, broken.value.after_s) == ("Come again.", 7.0)


def test_close_ends_what_another_thread_reads():
    left = threading.Event()

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        record = data_pb2.ProfileRecord(cursor="1", visit=data_pb2.VisitProfiles())
        request.wfile.write(Framing.PROTOBUF.framed(record))
        request.wfile.flush()
        left.wait(60)

    with answering(endless) as url:
        client = connect(url)
        began, told = threading.Event(), []

        def read() -> None:
            try:
                for _ in client.profiles():
                    began.set()
            except Closed as error:
                told.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        assert began.wait(60)
        client.close()
        reader.join(50)
        assert not reader.is_alive()
        left.set()
    assert [str(error) for error in told] == ["The client is closed."]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "unix:/nowhere/data.sock"])
def test_a_closed_client_says_so(url: str):
    client = connect(url)
    client.close()
    with pytest.raises(Closed):
        list(client.profiles())
    with pytest.raises(Closed):
        list(client.captures())
