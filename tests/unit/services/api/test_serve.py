"""Where the API refuses to listen."""

import socket
from pathlib import Path

import pytest

from services.api import serve
from services.api.serve import Listen, check_exposure
from services.errors import SettingsProblem

TOKENS = ["viewer:" + "x" * 20]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.9.1", "unix:/run/x.sock"])
def test_private_addresses_need_nothing(host: str):
    check_exposure(Listen(host), [])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "fleet.example", ""])
def test_other_addresses_need_tls_and_tokens(host: str, tmp_path: Path):
    pem = tmp_path / "x.pem"
    pem.write_text("x")
    with pytest.raises(
        SettingsProblem, match="API_TLS_CERT and FLEETPROF_API_TLS_KEY and FLEETPROF_API_TOKENS"
    ):
        check_exposure(Listen(host), [])
    with pytest.raises(SettingsProblem, match="set FLEETPROF_API_TOKENS"):
        check_exposure(Listen(host, tls_cert=pem, tls_key=pem), [])
    with pytest.raises(SettingsProblem, match="set FLEETPROF_API_TLS_CERT"):
        check_exposure(Listen(host), TOKENS)
    check_exposure(Listen(host, tls_cert=pem, tls_key=pem), TOKENS)


def test_small_answers_are_not_held_back():
    with serve._bind(Listen(port=0)) as bound:
        assert bound.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY on these only"


def test_half_of_a_certificate_is_refused(tmp_path: Path):
    with pytest.raises(SettingsProblem, match="belong together"):
        check_exposure(Listen(tls_cert=tmp_path / "x"), [])
    with pytest.raises(SettingsProblem, match="cannot be read"):
        check_exposure(Listen(tls_cert=tmp_path / "x", tls_key=tmp_path / "y"), [])
