"""Where the API refuses to listen."""

import socket
from pathlib import Path

import pytest

from services.api import serve
from services.api.serve import Listen, check_exposure
from services.errors import SettingsProblem
from tests.self_signed import self_signed

TOKENS = ["viewer:" + "x" * 20]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.9.1", "unix:/run/x.sock"])
def test_private_addresses_need_nothing(host: str):
    check_exposure(Listen(host), [])


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> dict[str, Path]:
    return written(tmp_path_factory.mktemp("pair"), "api")


def written(folder: Path, name: str) -> dict[str, Path]:
    """A certificate for this name and its key, in the folder."""
    certificate, key = self_signed(name)
    files = {"tls_cert": folder / "cert.pem", "tls_key": folder / "key.pem"}
    files["tls_cert"].write_bytes(certificate)
    files["tls_key"].write_bytes(key)
    return files


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "fleet.example", ""])
def test_other_addresses_need_tls_and_tokens(host: str, pair: dict[str, Path]):
    with pytest.raises(
        SettingsProblem, match="API_TLS_CERT and FLEETPROF_API_TLS_KEY and FLEETPROF_API_TOKENS"
    ):
        check_exposure(Listen(host), [])
    with pytest.raises(SettingsProblem, match="set FLEETPROF_API_TOKENS"):
        check_exposure(Listen(host, **pair), [])
    with pytest.raises(SettingsProblem, match="set FLEETPROF_API_TLS_CERT"):
        check_exposure(Listen(host), TOKENS)
    check_exposure(Listen(host, **pair), TOKENS)


def test_small_answers_are_not_held_back():
    with serve._bind(Listen(port=0)) as bound:
        assert bound.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on these only"


def test_half_of_a_certificate_is_refused(tmp_path: Path):
    with pytest.raises(SettingsProblem, match="or none of them"):
        check_exposure(Listen(tls_cert=tmp_path / "x"), [])
    with pytest.raises(SettingsProblem, match="Cannot read"):
        check_exposure(Listen(tls_cert=tmp_path / "x", tls_key=tmp_path / "y"), [])


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "unix:/run/x.sock"])
def test_files_that_are_no_pair_are_refused_before_anything_is_opened(
    host: str, pair: dict[str, Path], tmp_path: Path
):
    other = written(tmp_path, "other")
    text = tmp_path / "text"
    text.write_text("garbage")
    for wrong in (
        {**pair, "tls_key": other["tls_key"]},
        {**pair, "tls_key": text},
        {**pair, "tls_cert": text},
        {**pair, "tls_cert": tmp_path},
    ):
        with pytest.raises(SettingsProblem, match="must be a certificate and its unencrypted key"):
            check_exposure(Listen(host, **wrong), TOKENS)
