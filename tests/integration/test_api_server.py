"""The API as a process: where it listens, how it ends, and callers who go away."""

import http.client
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api_process import DEADLINE_S, answers, free_port, running
from tests.self_signed import self_signed

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TOKEN = "t" * 24
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=DEADLINE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(str(self._path))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def until_said(process: subprocess.Popen[str], text: str) -> None:
    """Until it has logged a line with this text."""
    enough = threading.Timer(DEADLINE_S, process.kill)
    enough.start()
    try:
        assert any(text in line for line in process.stdout), f"it did not say: {text}"
    finally:
        enough.cancel()


def test_a_unix_socket_is_its_users_only_and_goes_away(database_url: str, tmp_path: Path):
    path = tmp_path / "run" / "api.sock"
    with running(f"unix:{path}", "0", "", database_url, str(tmp_path)) as process:
        until(lambda: answers(lambda: _Unix(path)) == 200)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert answers(lambda: _Unix(path), "/metrics") == 401
        assert answers(lambda: _Unix(path), "/api/v1/status") == 401
        with running(f"unix:{path}", "0", "", database_url, str(tmp_path)) as second:
            assert second.wait(DEADLINE_S) == 1
            assert "listens on" in second.stdout.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        assert not path.exists()


def test_callers_who_go_away_do_no_harm(database_url: str, tmp_path: Path):
    port = free_port()

    def connect() -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)

    with running("127.0.0.1", str(port), "", database_url, str(tmp_path), f"viewer:{TOKEN}") as process:
        until(lambda: answers(connect) == 200)
        request = (
            f"GET /api/v1/flame HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", port)) as caller:
                caller.sendall(request)
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close by reset
        until(lambda: answers(connect, "/api/v1/status", BEARER) == 200)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0
        assert "Traceback" not in said
        assert "request failed" not in said


def test_a_taken_port_is_said_in_a_sentence(database_url: str, tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with running("127.0.0.1", str(port), "", database_url, str(tmp_path)) as process:
            assert process.wait(DEADLINE_S) == 1
            assert f"cannot listen on 127.0.0.1 port {port}" in process.stdout.read()


def test_an_open_address_without_tls_and_tokens_is_refused(database_url: str, tmp_path: Path):
    with running("0.0.0.0", "0", "", database_url, str(tmp_path)) as process:
        assert process.wait(DEADLINE_S) == 1
        said = process.stdout.read()
    assert "FLEETPROF_API_TLS_CERT" in said
    assert "FLEETPROF_API_TOKENS" in said
    assert "Traceback" not in said


def test_an_open_address_with_both_is_served_over_tls(database_url: str, tmp_path: Path):
    pem = tmp_path / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", pem, "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    with pem.open("a") as both:
        both.write((tmp_path / "cert.pem").read_text())
    port = free_port()
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))

    def connect() -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("localhost", port, timeout=DEADLINE_S, context=trust)

    with running("0.0.0.0", str(port), str(pem), database_url, str(tmp_path), f"viewer:{TOKEN}"):
        until(lambda: answers(connect) == 200)
        assert answers(connect, "/api/v1/status") == 401
        connection = connect()
        connection.request("GET", "/api/v1/status", headers=BEARER)
        response = connection.getresponse()
        assert response.status == 200
        assert response.headers["Strict-Transport-Security"]
        connection.close()


def test_a_new_certificate_is_shown_without_a_restart(database_url: str, tmp_path: Path):
    pem, port = tmp_path / "both.pem", free_port()

    def written(content: bytes) -> None:
        new = tmp_path / "new.pem"
        new.write_bytes(content)
        new.rename(pem)

    def replace(*, by_rsa: bool = False) -> ssl.SSLContext:
        """Who trusts nothing but the new one."""
        certificate, key = self_signed("localhost", by_rsa=by_rsa)
        written(key + certificate)
        trust = ssl.create_default_context(cadata=certificate.decode())
        trust.check_hostname = False  # it has no address
        trust.verify_flags &= ~ssl.VERIFY_X509_STRICT  # a leaf that signed itself is no authority
        return trust

    def answers_to(trust: ssl.SSLContext, host: str) -> bool:
        return (
            answers(lambda: http.client.HTTPSConnection(host, port, timeout=DEADLINE_S, context=trust)) == 200
        )

    hosts = ("localhost", "127.0.0.1")  # a caller of an address names no host in its handshake
    first = replace()
    with running("127.0.0.1", str(port), str(pem), database_url, str(tmp_path)) as process:
        until(lambda: answers_to(first, "localhost"))
        written(b"half of a copy")
        until_said(process, "certificates not reloaded")
        assert all(answers_to(first, host) for host in hosts)
        for by_rsa in (True, False):  # not that of another kind of key beside the old one
            new = replace(by_rsa=by_rsa)
            until_said(process, "certificates reloaded")
            assert all(answers_to(new, host) for host in hosts)
            assert not any(answers_to(first, host) for host in hosts)
        assert process.poll() is None


def test_the_descriptions_command_needs_no_database(tmp_path: Path):
    environment = {**os.environ, "DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "-m", "services.api.openapi"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert '"/api/v1/table"' in done.stdout
    assert done.stderr == ""
