"""GIVEN the API as a process WHEN strangers hold connections THEN others are answered, and the strangers' are closed."""

import http.client
import resource
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from symbolizer.worker.descriptor_limit import allow_descriptors
from tests.api_process import DEADLINE_S, answers, free_port, running
from tests.polling import until
from tests.self_signed import self_signed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120), pytest.mark.slow]

HALF = b"GET / HTTP/1.1\r\nX: "
CROWD = 1100
NO_DATABASE = "postgresql://unused@/none?host=/nowhere"


@pytest.fixture(autouse=True)
def few_descriptors() -> Iterator[None]:
    """A server starts with what a shell gives it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def crowd(port: int, sent: Sequence[bytes], opened: ExitStack) -> list[socket.socket]:
    """More connections than a process may have descriptors by default; each sends one of these, and no more."""
    assert allow_descriptors() > 2 * CROWD, "the hard limit allows this process its ends of them"
    strangers = []
    for number in range(CROWD):
        connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        strangers.append(opened.enter_context(connection))
        connection.sendall(sent[number % len(sent)])
    return strangers


def is_closed(stranger: socket.socket) -> bool:
    stranger.setblocking(False)
    try:
        return stranger.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def plainly(port: int) -> Callable[[], http.client.HTTPConnection]:
    return lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)


def over_tls(port: int, context: ssl.SSLContext) -> Callable[[], http.client.HTTPConnection]:
    return lambda: http.client.HTTPSConnection("localhost", port, timeout=DEADLINE_S, context=context)


def pair(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate with its key, and who trusts it."""
    certificate, key = self_signed("localhost")
    pem = folder / "both.pem"
    pem.write_bytes(key + certificate)
    trust = ssl.create_default_context(cadata=certificate.decode())
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT  # a leaf that signed itself is no authority
    return pem, trust


def test_many_unfinished_requests_keep_nobody_else_waiting(tmp_path: Path):
    port = free_port()
    with ExitStack() as opened:
        opened.enter_context(running("127.0.0.1", str(port), "", NO_DATABASE, str(tmp_path)))
        until(lambda: answers(plainly(port), "/healthz") == 200, "it listens")
        strangers = crowd(port, (b"", HALF), opened)
        assert answers(plainly(port), "/healthz") == 200
        assert not is_closed(strangers[-1]), "who connects last has the time that requests have"
        until(lambda: all(map(is_closed, strangers)), "all of them are closed", seconds=DEADLINE_S)


def test_many_unfinished_handshakes_keep_nobody_else_waiting(tmp_path: Path):
    port = free_port()
    pem, trust = pair(tmp_path)
    with ExitStack() as opened:
        opened.enter_context(running("127.0.0.1", str(port), str(pem), NO_DATABASE, str(tmp_path)))
        until(lambda: answers(over_tls(port, trust), "/healthz") == 200, "it listens")
        strangers = crowd(port, (b"", b"\x16\x03\x01"), opened)
        assert answers(over_tls(port, trust), "/healthz") == 200
        until(lambda: all(map(is_closed, strangers)), "all of them are closed", seconds=DEADLINE_S)


def test_nothing_older_than_tls_1_3_is_spoken(tmp_path: Path):
    port = free_port()
    pem, trust = pair(tmp_path)
    with running("127.0.0.1", str(port), str(pem), NO_DATABASE, str(tmp_path)):
        until(lambda: answers(over_tls(port, trust), "/healthz") == 200, "it listens")
        assert spoken(port, trust, ssl.TLSVersion.TLSv1_2) is None
        (tmp_path / "new").mkdir()
        renewed, trust = pair(tmp_path / "new")
        renewed.rename(pem)
        until(lambda: spoken(port, trust, ssl.TLSVersion.TLSv1_3) == "TLSv1.3", "the new one is shown")
        assert spoken(port, trust, ssl.TLSVersion.TLSv1_2) is None, "a renewed certificate's context likewise"


def spoken(port: int, trust: ssl.SSLContext, newest: ssl.TLSVersion) -> str | None:
    """What a client speaks to the server that offers nothing newer than this; None: there is no connection."""
    trust.maximum_version = newest
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as plain:
        try:
            with trust.wrap_socket(plain, server_hostname="localhost") as secured:
                return secured.version()
        except ssl.SSLError:
            return None
