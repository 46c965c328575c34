"""GIVEN an API elsewhere WHEN it answers, or not THEN the command says what to do."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from services.client import json_api
from services.errors import ApiRefused, SettingsProblem
from services.symbols.errors import UnusableFile
from services.symbols.remote_access import RemoteSymbols
from services.symbols.symbol_files import LocalFile


class Api(ThreadingHTTPServer):
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[tuple[int, dict | bytes]] = []
        self.asked: list[tuple[str, str, str | None, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/prefix/"

    def handle_error(self, *_: object) -> None:
        """A sender broke off, which is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def _answer(self) -> None:
        status, document = self.server.replies.pop(0)
        body = b"" if status == 413 else self._body()
        self.server.asked.append((self.command, self.path, self.headers["Authorization"], body))
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - the library's names

    def _body(self) -> bytes:
        if self.headers["Transfer-Encoding"] != "chunked":
            return b""
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(json_api.time, "sleep", lambda _: None)
    server = Api()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def problem(detail: str, hint: str = "") -> dict:
    return {"detail": detail, "hint": hint}


def test_a_file_travels_compressed_with_the_token(api: Api, tmp_path: Path):
    content = bytes(range(256)) * 20_000
    (tmp_path / "prog.debug").write_bytes(content)
    api.replies = [(200, {"outcome": "new"})]
    sent: list[int] = []
    answer = RemoteSymbols(api.url, "secret").upload(
        LocalFile(tmp_path / "prog.debug", len(content)), sent=sent.append
    )
    assert answer == {"outcome": "new"}
    ((method, path, authorization, body),) = api.asked
    assert (method, path, authorization) == (
        "POST",
        "/prefix/api/v1/symbols?name=prog.debug",
        "Bearer secret",
    )
    assert len(body) < len(content) // 10
    assert zstandard.ZstdDecompressor().decompressobj().decompress(body) == content
    assert sent[-1] == len(content)


def test_passing_failures_are_tried_again(api: Api, tmp_path: Path):
    (tmp_path / "f").write_bytes(b"x" * 100)
    api.replies = [(503, problem("busy")), (502, b"<html>"), (200, {})]
    RemoteSymbols(api.url, None).upload(LocalFile(tmp_path / "f", 100), sent=lambda _: None)
    assert len({body for *_, body in api.asked}) == 1, "the whole body each time"
    assert len(api.asked) == 3


def test_it_ends_with_the_servers_own_words(api: Api):
    symbols = RemoteSymbols(api.url, "viewer")
    api.replies = [(422, problem("x: It is not an ELF file.", "Look."))]
    with pytest.raises(ApiRefused, match=r"x: It is not an ELF file\. Look\.") as caught:
        symbols.show("aa")
    assert caught.value.status == 422
    api.replies = [(401, problem("You are not signed in."))]
    with pytest.raises(ApiRefused, match="FLEETPROF_TOKEN"):
        symbols.show("aa")
    api.replies = [(503, problem("away"))] * 9
    with pytest.raises(ApiRefused, match="away"):
        symbols.reprocessings()


def test_a_body_that_is_refused_early_is_no_broken_pipe(api: Api, tmp_path: Path):
    (tmp_path / "f").write_bytes(b"")
    with (tmp_path / "f").open("r+b") as file:
        file.truncate(64 << 20)
    api.replies = [(413, problem("too large"))] * 9
    with pytest.raises(ApiRefused):
        RemoteSymbols(api.url, None).upload(LocalFile(tmp_path / "f", 64 << 20), sent=lambda _: None)


def test_keys_are_one_segment_of_the_path(api: Api):
    symbols = RemoteSymbols(api.url, None)
    api.replies = [(200, {}), (200, {}), (200, {})]
    symbols.show("go:a/b c")
    symbols.remove("path:/x", b"\x01" * 32)
    symbols.listing({"find": "a&b"})
    assert [path for _, path, *_ in api.asked] == [
        "/prefix/api/v1/symbols/go%3Aa%2Fb%20c",
        f"/prefix/api/v1/symbols/path%3A%2Fx/{'01' * 32}",
        "/prefix/api/v1/symbols?find=a%26b",
    ]


@pytest.mark.parametrize("content", [b"<html>hello</html>", b"[1]", b""])
def test_what_is_no_api_is_said(api: Api, content: bytes):
    api.replies = [(200, content)]
    with pytest.raises(ApiRefused, match="not a fleetprof API"):
        RemoteSymbols(api.url, None).reprocessings()


def test_nobody_answers(api: Api):
    with pytest.raises(ApiRefused, match="does not respond: Connection refused"):
        RemoteSymbols("http://127.0.0.1:1", None).reprocessings()


def test_a_file_that_cannot_be_read_is_no_fault_of_the_api(api: Api, tmp_path: Path):
    symbols = RemoteSymbols(api.url, None)
    with pytest.raises(UnusableFile, match="No such file"):
        symbols.upload(LocalFile(tmp_path / "gone", 1), sent=lambda _: None)
    with pytest.raises(
        UnusableFile, match="Cannot read the file"
    ):  # as a failing disk: it opens, and gives nothing
        symbols.upload(LocalFile(Path("/proc/self/mem"), 1), sent=lambda _: None)


def test_a_token_does_not_travel_in_the_open():
    with pytest.raises(SettingsProblem, match=r"https://.*ssh -L 7070:127\.0\.0\.1:80 fleet\.example"):
        RemoteSymbols("http://fleet.example:80", "secret")
    RemoteSymbols("http://fleet.example:80", None)
    for url in ("https://fleet.example", "http://localhost:7070", "http://127.0.0.2", "http://[::1]:7070"):
        RemoteSymbols(url, "secret")


@pytest.mark.parametrize(
    "url",
    [
        *("fleetprof.example", "ftp://x", "https://", "unix:/x"),
        *("http://h:abc", "http://[::1", "http://h:65536"),
    ],
)
def test_what_is_no_address_is_said(url: str):
    with pytest.raises(SettingsProblem, match="Invalid API address"):
        RemoteSymbols(url, None)
