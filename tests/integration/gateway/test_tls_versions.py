"""GIVEN real TLS handshakes WHEN a side offers no TLS 1.3 THEN gateway and collector refuse it."""

import os
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from services.certificates.kinds import Kind
from services.certificates.register import Register
from tests.gateway_daemon import DEADLINE_S, PROGRAM, ROOT, require_perf_events, running, wait_until
from tests.handshakes import REFUSED, negotiated, offering
from tests.self_signed import self_signed

pytestmark = pytest.mark.integration

UNSET = ("/usr/bin/env", "-u", "GRPC_SSL_CIPHER_SUITES", "-u", "GRPC_VERBOSITY")
"""The programs have to set these themselves."""


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certs") / "fleet"
    register = Register(folder)
    register.init()
    register.issue(Kind.GATEWAY, ("localhost",))
    register.issue(Kind.COLLECTOR, ("main",))
    for name, by_rsa in (("ecdsa", False), ("rsa", True)):
        certificate, key = self_signed("localhost", by_rsa=by_rsa)
        (folder / f"{name}.crt").write_bytes(certificate)
        (folder / f"{name}.key").write_bytes(key)
    return folder


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_the_gateway_negotiates_tls_1_3_alone(certs: Path, tmp_path: Path, kind: str):
    require_perf_events()
    files = ("--tls-cert", f"{certs}/{kind}.crt", "--tls-key", f"{certs}/{kind}.key")
    with running(
        tmp_path,
        *files,
        *("--tls-client-ca", f"{certs}/ca.crt"),
        listen="127.0.0.1:0",
        program=(*UNSET, *PROGRAM),
    ) as daemon:
        port = int(daemon.target.rpartition(":")[2])
        printable_path = certs / "collector/main.crt"
        with pytest.raises(OSError, match=REFUSED):
            negotiated(offering(ssl.TLSVersion.TLSv1_2, certs / f"{kind}.crt", printable_path), port)
        assert (
            negotiated(offering(ssl.TLSVersion.TLSv1_3, certs / f"{kind}.crt", printable_path), port)
            == "TLSv1.3"
        )


def test_handshakes_that_fail_do_not_fill_the_log(certs: Path, tmp_path: Path):
    require_perf_events()
    files = ("--tls-cert", f"{certs}/ecdsa.crt", "--tls-key", f"{certs}/ecdsa.key")
    with running(
        tmp_path,
        *files,
        *("--tls-client-ca", f"{certs}/ca.crt"),
        listen="127.0.0.1:0",
        program=(*UNSET, *PROGRAM),
    ) as daemon:
        port = int(daemon.target.rpartition(":")[2])
        for _ in range(100):
            with pytest.raises(OSError, match=rf"CERTIFICATE_REQUIRED|hung up|{REFUSED}"):
                negotiated(offering(ssl.TLSVersion.TLSv1_3, certs / "ecdsa.crt"), port)
        wait_until(
            "it is in the log",
            lambda: "closed the connection before it permitted a call" in daemon.log.read_text(),
        )
        assert len(daemon.log.read_text().splitlines()) < 50


_COLLECTOR = """
import sys
from services import cli

def visit():
    import asyncio
    from pathlib import Path
    from collector.channel import Credentials
    from collector.machine_description import describe
    _, address, *files = sys.argv
    asyncio.run(describe(address, Credentials(*map(Path, files))))

cli.app = visit
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "speaks"), [(ssl.TLSVersion.TLSv1_2, False), (ssl.TLSVersion.TLSv1_3, True)]
)
def test_the_collector_negotiates_tls_1_3_alone(certs: Path, version: ssl.TLSVersion, speaks: bool):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(certs / "gateway/localhost.crt", certs / "gateway/localhost.key")
    heard: list[bytes | str] = []

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE_S)

        def answer() -> None:
            plain, _ = listening.accept()
            plain.settimeout(DEADLINE_S)
            try:
                with context.wrap_socket(plain, server_side=True) as caller:
                    heard.append(caller.recv(3))
            except ssl.SSLError as refused:
                heard.append(refused.reason)

        thread = threading.Thread(target=answer)
        thread.start()
        files = [certs / "ca.crt", certs / "collector/main.crt", certs / "collector/main.key"]
        ended = subprocess.run(
            [*UNSET, sys.executable, "-c", _COLLECTOR, f"localhost:{listening.getsockname()[1]}", *files],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        thread.join()
    assert ended.returncode == 1, "what listens there is no gateway"
    assert heard == ([b"PRI"] if speaks else ["NO_SHARED_CIPHER"]), ended.stderr
