"""The client against servers that misbehave; a real one is in tests/integration/test_debuginfod.py."""

import http.server
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

from symbolizer.sources.debuginfod_client import (
    DebuginfodClient,
    DownloadLimits,
    Fetched,
    NotFetched,
    is_same_server,
)
from tests.http_stub import Server, redirects, sends

ID = b"\x01\x02\x03\x04"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.touch()
    return path


def test_a_file_is_written_and_its_path_is_the_protocols(server: Server, target: Path) -> None:
    server.answer = sends(b"content", Content_Length="7")
    client = DebuginfodClient(f"{server.url}/")
    assert client.fetch(ID, "source/a dir/b#c?.c", target) == Fetched(
        f"{server.url}/buildid/01020304/source/a%20dir/b%23c%3F.c"
    )
    assert target.read_bytes() == b"content"
    assert server.asked == ["/buildid/01020304/source/a%20dir/b%23c%3F.c"]


@pytest.mark.parametrize(("code", "lasting"), [(404, 3600), (500, 300), (403, 300)])
def test_a_refusal_is_a_value_with_a_lifetime(server: Server, target: Path, code: int, lasting: int) -> None:
    server.answer = lambda request: request.send_error(code)
    outcome = DebuginfodClient(server.url).fetch(ID, "debuginfo", target)
    assert isinstance(outcome, NotFetched)
    assert outcome.lifetime_s == lasting


@pytest.mark.parametrize("announced", [True, False])
def test_what_is_too_large_ends_early(server: Server, target: Path, announced: bool) -> None:
    server.answer = sends(bytes(50_000), **({"Content_Length": "50000"} if announced else {}))
    client = DebuginfodClient(server.url, limits=DownloadLimits(bytes=10_000))
    outcome = client.fetch(ID, "debuginfo", target)
    assert isinstance(outcome, NotFetched)
    assert "10000" in outcome.reason
    assert target.stat().st_size <= 10_000


def test_what_is_cut_off_is_not_taken_for_whole(server: Server, target: Path) -> None:
    server.answer = sends(b"half", Content_Length="8")
    outcome = DebuginfodClient(server.url).fetch(ID, "debuginfo", target)
    assert isinstance(outcome, NotFetched)


def test_a_drip_ends_at_the_deadline(server: Server, target: Path) -> None:
    ticks = iter(range(0, 100_000, 100))
    server.answer = sends(bytes(50_000))
    client = DebuginfodClient(server.url, limits=DownloadLimits(seconds=50), clock=lambda: float(next(ticks)))
    outcome = client.fetch(ID, "debuginfo", target)
    assert isinstance(outcome, NotFetched)
    assert "50 s" in outcome.reason


def test_a_server_that_does_not_answer_is_left_alone_for_a_while(target: Path) -> None:
    server = Server()
    server.close()
    now = [0.0]
    client = DebuginfodClient(server.url, clock=lambda: now[0])
    first = client.fetch(ID, "debuginfo", target)
    assert isinstance(first, NotFetched)
    assert first.lifetime_s == 0  # it says nothing about the file
    again = client.fetch(ID, "debuginfo", target)
    assert isinstance(again, NotFetched)
    assert "recent request" in again.reason
    now[0] += DownloadLimits().retry_s
    after = client.fetch(ID, "debuginfo", target)
    assert isinstance(after, NotFetched)
    assert "recent request" not in after.reason


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://[", "http://\udc80/"])
def test_a_redirection_leads_to_http_only(server: Server, target: Path, where: str) -> None:
    def answer(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.wfile.write(b"")
        request._headers_buffer.append(b"Location: " + where.encode("utf-8", "surrogateescape") + b"\r\n")
        request.end_headers()

    server.answer = answer
    assert isinstance(DebuginfodClient(server.url).fetch(ID, "debuginfo", target), NotFetched)
    assert target.read_bytes() == b""


@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.1"])
def test_a_redirection_to_another_host_or_port_is_not_followed(
    server: Server, target: Path, host: str
) -> None:
    other = Server(host)
    try:
        other.answer = sends(b"secret")
        server.answer = redirects(f"{other.url}/latest/meta-data")
        outcome = DebuginfodClient(server.url).fetch(ID, "source/a.c", target)
    finally:
        other.close()
    assert isinstance(outcome, NotFetched)
    assert "redirects to another server" in outcome.reason
    assert other.asked == []
    assert target.read_bytes() == b""


@pytest.mark.parametrize(
    ("server", "where"),
    [
        ("https://h/b", "http://h/x"),
        ("https://h/b", "http://h:443/x"),
        ("http://h/b", "https://h/x"),
        ("https://h/b", "https://h.example/x"),
        ("https://h/b", "https://h:8443/x"),
        ("https://h/b", "https://h@evil.example/x"),
        ("https://h/b", "//evil.example/x"),
    ],
)
def test_a_redirection_keeps_scheme_host_and_port(server: str, where: str) -> None:
    assert not is_same_server(server, urljoin(server, where))


@pytest.mark.parametrize("where", ["/x", "https://H/x", "https://h:443/x?y=z", "x"])
def test_a_redirection_within_a_server_is_one(where: str) -> None:
    assert is_same_server("https://h/buildid/00/debuginfo", urljoin("https://h/buildid/00/debuginfo", where))


def test_a_redirection_within_the_server_is_followed(server: Server, target: Path) -> None:
    content = sends(b"content", Content_Length="7")
    elsewhere = redirects("/there")
    server.answer = lambda request: (content if request.path == "/there" else elsewhere)(request)
    assert isinstance(DebuginfodClient(server.url).fetch(ID, "debuginfo", target), Fetched)
    assert target.read_bytes() == b"content"


def test_redirections_without_end_are_not_followed(server: Server, target: Path) -> None:
    def onwards(request: http.server.BaseHTTPRequestHandler) -> None:
        redirects(f"/{len(server.asked)}")(request)

    server.answer = onwards
    assert isinstance(DebuginfodClient(server.url).fetch(ID, "debuginfo", target), NotFetched)
    assert len(server.asked) <= 6


@pytest.mark.parametrize(
    "body", [b"no http at all", b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"]
)
def test_what_speaks_no_http_is_a_value(server: Server, target: Path, body: bytes) -> None:
    server.answer = lambda request: request.wfile.write(body)
    assert isinstance(
        DebuginfodClient(server.url, limits=DownloadLimits(answer_s=2)).fetch(ID, "debuginfo", target),
        NotFetched | Fetched,
    )


@pytest.mark.parametrize("url", ["ftp://x", "example.org", "https://u:p@x", "http://", "http://x?y=z"])
def test_only_addresses_of_servers_are_accepted(url: str) -> None:
    with pytest.raises(ValueError, match="debuginfod"):
        DebuginfodClient(url)
