"""GIVEN addresses that others can reach WHEN the data API is to listen there THEN only those who may read it."""

import os
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from services.client import Broken, Client, Refused, connect
from services.commands.certs import app as certs
from services.data_api.grpc_server import DataListen, DataServer
from services.data_api.stream_service import StreamService
from services.data_api.streams import Streams
from services.errors import CannotStart
from tests.access_records import access_of
from tests.handshakes import REFUSED, negotiated, offering
from tests.integration.data_api.conftest import HOUR, OPERATOR, VIEWER, Store, serving
from tests.polling import until
from tests.self_signed import self_signed

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TIMES = {"start": HOUR["from"], "end": HOUR["to"]}


@contextmanager
def listening(store: Store, listen: DataListen, state: Path, **options: float) -> Iterator[int]:
    service = StreamService(Streams(store.engine, store.archive))
    access = access_of(state, [f"viewer:{VIEWER}", f"operator:{OPERATOR}"])
    server = DataServer(listen, service, access, **options)
    server.start()
    try:
        yield server.port
    finally:
        server.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Certificates by `fleetprof certs`, and one of another authority."""
    made = tmp_path_factory.mktemp("certs")
    for command in (
        ["init"],
        ["issue", "api", "localhost,127.0.0.1"],
        ["issue", "data-viewer", "dashboard"],
        ["issue", "data-operator", "lab"],
        ["issue", "viewer", "nobody"],
    ):
        done = CliRunner().invoke(certs, [*command, "--folder", str(made)])
        assert done.exit_code == 0, done.output
    return made


def count(url: str, of: str = "profiles", **more) -> int:
    with connect(url, retries=0, **more) as client:
        return len(list(getattr(client, of)(**TIMES)))


def test_a_socket_is_its_users_and_goes_away(store: Store, tmp_path: Path):
    path = tmp_path / "run" / "data.sock"
    listen = DataListen(f"unix:{path}")
    with listening(store, listen, tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert count(f"unix:{path}") == count(f"unix:{path}", "captures") == len(store.visit_ids)
        with pytest.raises(CannotStart, match="listens on"), listening(store, listen, tmp_path):
            pass
    assert not path.exists()


def test_tls_with_a_token(store: Store, folder: Path, tmp_path: Path):
    own = folder / "api" / "localhost"
    listen = DataListen("127.0.0.1:0", own.with_suffix(".crt"), own.with_suffix(".key"))
    with listening(store, listen, tmp_path) as port:
        url = f"grpcs://localhost:{port}"
        assert count(url, ca=folder / "api-ca.crt", token=VIEWER) == len(store.visit_ids)
        with pytest.raises(Refused, match="no valid credentials"):
            count(url, ca=folder / "api-ca.crt")
        with pytest.raises(Broken):
            count(url, ca=folder / "ca.crt", token=VIEWER)
        with pytest.raises(Broken):
            count(url.replace("grpcs", "grpc"), token=VIEWER)


def test_mutual_tls_by_roles(store: Store, folder: Path, tmp_path: Path):
    own = folder / "api" / "localhost"
    listen = DataListen(
        "127.0.0.1:0", own.with_suffix(".crt"), own.with_suffix(".key"), folder / "api-ca.crt"
    )

    def shown(name: str) -> dict[str, Path]:
        return {
            "certificate": folder / f"{name}.crt",
            "key": folder / f"{name}.key",
            "ca": folder / "api-ca.crt",
        }

    with listening(store, listen, tmp_path) as port:
        url = f"grpcs://localhost:{port}"
        assert count(url, **shown("data-viewer/dashboard")) == len(store.visit_ids)
        assert count(url, "captures", **shown("data-operator/lab")) == len(store.visit_ids)
        assert count(url, "captures", token=OPERATOR, **shown("data-viewer/dashboard")) == len(
            store.visit_ids
        )
        with pytest.raises(Refused, match="needs the role operator"):
            count(url, "captures", **shown("data-viewer/dashboard"))
        for name in ("viewer/nobody", "api/localhost"):  # of the fleet's authority; for serving
            with pytest.raises(Broken):
                count(url, **shown(name))
        with pytest.raises(Broken):
            count(url, ca=folder / "api-ca.crt", token=VIEWER)


def test_the_data_api_negotiates_tls_1_3_alone(store: Store, tmp_path: Path):
    for name, by_rsa in (("ecdsa", False), ("rsa", True)):
        state, certificate = tmp_path / name, tmp_path / f"{name}.crt"
        state.mkdir()
        key = certificate.with_suffix(".key")
        for path, content in zip((certificate, key), self_signed("localhost", by_rsa=by_rsa), strict=True):
            path.write_bytes(content)
        settings = {"FLEETPROF_API_TLS_CERT": str(certificate), "FLEETPROF_API_TLS_KEY": str(key)}
        with serving(store, state, settings=settings) as served:
            _, port = served.ports
            with pytest.raises(OSError, match=REFUSED):
                negotiated(offering(ssl.TLSVersion.TLSv1_2, certificate), port)
            assert negotiated(offering(ssl.TLSVersion.TLSv1_3, certificate), port) == "TLSv1.3"
            url = f"grpcs://localhost:{port}"
            assert count(url, ca=certificate, token=VIEWER) == len(store.visit_ids)


def test_an_authority_that_is_gone_keeps_its_callers_out_and_from_going_on(
    store: Store, folder: Path, tmp_path: Path
):
    """Of two in one file; a connection made before must show its certificate again, too."""
    other, both = tmp_path / "other", tmp_path / "both.crt"
    for command in (["init"], ["issue", "data-viewer", "dashboard"]):
        assert CliRunner().invoke(certs, [*command, "--folder", str(other)]).exit_code == 0
    authorities = [(place / "api-ca.crt").read_bytes() for place in (folder, other)]
    both.write_bytes(b"".join(authorities))
    own = folder / "api" / "localhost"
    listen = DataListen("127.0.0.1:0", own.with_suffix(".crt"), own.with_suffix(".key"), both)

    def shown(place: Path) -> dict[str, Path]:
        pair = place / "data-viewer" / "dashboard"
        return {
            "certificate": pair.with_suffix(".crt"),
            "key": pair.with_suffix(".key"),
            "ca": folder / "api-ca.crt",
        }

    with listening(store, listen, tmp_path, connection_age_s=2.0) as port, ExitStack() as ending:
        url = f"grpcs://localhost:{port}"
        held = [ending.enter_context(connect(url, retries=0, **shown(place))) for place in (folder, other)]
        for client in held:
            assert len(list(client.profiles(**TIMES))) == len(store.visit_ids)
        new = tmp_path / "new"
        new.write_bytes(authorities[1])
        new.rename(both)
        with pytest.raises(Broken):
            count(url, **shown(folder))
        until(lambda: not _answers(held[0]), "the connection that was there is asked again")
        assert len(list(held[1].profiles(**TIMES))) == len(store.visit_ids)
        assert count(url, **shown(other)) == len(store.visit_ids)


def _answers(client: Client) -> bool:
    try:
        list(client.profiles(**TIMES))
    except Broken:
        return False
    return True


def test_a_connection_that_nobody_limits_shows_its_certificate_again_after_ten_minutes(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    passed: list[object] = []
    make = grpc.server

    def noting(*arguments: Any, options: Sequence[tuple[str, object]], **named: Any) -> grpc.Server:
        passed.extend(options)
        return make(*arguments, options=options, **named)

    monkeypatch.setattr(grpc, "server", noting)
    with listening(store, DataListen(f"unix:{tmp_path}/data.sock"), tmp_path):
        assert ("grpc.max_connection_age_ms", 600_000) in passed
        assert ("grpc.max_connection_idle_ms", 30_000) in passed


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""With the empty SETTINGS that a client begins with (RFC 9113, 3.4)."""


def test_a_connection_without_a_stream_is_closed_and_clients_connect_again(store: Store, tmp_path: Path):
    with listening(store, DataListen("127.0.0.1:0"), tmp_path, idle_s=1.0) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
            stranger.sendall(PREFACE)
            while stranger.recv(4096):
                pass
        with connect(f"grpc://127.0.0.1:{port}", retries=0, token=VIEWER) as client:
            for _ in range(2):
                assert len(list(client.profiles(**TIMES))) == len(store.visit_ids)
                with socket.create_connection(("127.0.0.1", port), timeout=30) as later:
                    later.sendall(PREFACE)
                    while later.recv(4096):  # as long idle as the client, or less
                        pass


def test_new_certificates_are_shown_without_a_restart(store: Store, folder: Path, tmp_path: Path):
    own, place = folder / "api" / "localhost", tmp_path / "place"
    place.mkdir()
    first, _ = replaced(place, own.with_suffix(".crt").read_bytes(), own.with_suffix(".key").read_bytes())
    with listening(store, DataListen("127.0.0.1:0", *first), tmp_path) as port:
        url = f"grpcs://localhost:{port}"
        old = {"ca": folder / "api-ca.crt", "token": VIEWER}
        assert count(url, **old) == len(store.visit_ids)
        for by_rsa in (True, False):  # not that of another kind of key beside the old one
            certificate, key = self_signed("localhost", by_rsa=by_rsa)
            replaced(place, certificate, b"half of a copy")
            with capture_logs() as said:
                assert count(url, **old) == len(store.visit_ids)
            refused = [line["why"] for line in said if line["event"] == "certificates not reloaded"]
            assert refused
            assert all("are not a certificate and its key" in why for why in refused)
            _, trusted = replaced(place, certificate, key)
            with capture_logs() as said:
                assert count(url, ca=trusted, token=VIEWER) == len(store.visit_ids)
            assert {line["event"] for line in said} >= {"certificates reloaded"}
            with pytest.raises(Broken):
                count(url, **old)
            old = {"ca": tmp_path / f"trusted-{by_rsa}", "token": VIEWER}
            old["ca"].write_bytes(certificate)


def replaced(folder: Path, certificate: bytes, key: bytes) -> tuple[tuple[Path, Path], Path]:
    """Certificate and key there; and the certificate again, for who trusts it."""
    files = folder / "cert", folder / "key"
    for path, content in zip(files, (certificate, key), strict=True):
        new = path.with_suffix(".new")
        new.write_bytes(content)
        new.rename(path)
    return files, files[0]


def test_a_taken_address_is_said_in_a_sentence(store: Store, tmp_path: Path):
    with (
        listening(store, DataListen("127.0.0.1:0"), tmp_path) as port,
        pytest.raises(CannotStart, match="the address may be in use"),
        listening(store, DataListen(f"127.0.0.1:{port}"), tmp_path),
    ):
        pass


def test_the_command_refuses_to_be_open_to_all(store: Store, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "services", "api", "--port", "0", "--grpc-listen", "0.0.0.0:0"],
        env={**os.environ, "FLEETPROF_STATE_DIR": str(tmp_path), "FLEETPROF_DATABASE_URL": store.url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "FLEETPROF_API_TLS_CERT" in done.stderr
    assert "Traceback" not in done.stderr
