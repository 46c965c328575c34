"""GIVEN an address WHEN the data API is to listen there THEN it says what is missing, or nothing."""

from pathlib import Path

import pytest

from services.certificates.authority import key_pem, new_key
from services.data_api.grpc_server import DataListen, check_data_exposure
from services.errors import SettingsProblem
from tests.self_signed import self_signed

TOKENS = ("viewer:" + "t" * 24,)
HERE, CERT, KEY = Path(__file__), Path("cert"), Path("key")
"""The latter two stand for those of `pair`."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Path:
    """A folder with a certificate, `cert`, and its `key`."""
    folder = tmp_path_factory.mktemp("pair")
    certificate, key = self_signed("api")
    (folder / "cert").write_bytes(certificate)
    (folder / "key").write_bytes(key)
    return folder


@pytest.mark.parametrize(
    ("listen", "tokens"),
    [
        (DataListen("unix:/run/data.sock"), ()),
        (DataListen("127.0.0.1:7080"), ()),
        (DataListen("[::1]:0"), TOKENS),
        (DataListen("localhost:7080"), TOKENS),
        (DataListen("0.0.0.0:7080", CERT, KEY), TOKENS),
        (DataListen("node.example:7080", CERT, KEY, CERT), ()),
    ],
)
def test_what_is_safe_enough(listen: DataListen, tokens, pair: Path, monkeypatch):
    monkeypatch.chdir(pair)
    check_data_exposure(listen, tokens)


@pytest.mark.parametrize(
    ("listen", "tokens", "said"),
    [
        (DataListen("unix:data.sock"), TOKENS, "absolute path"),
        (DataListen("unix:/" + "x" * 107), TOKENS, "107 bytes"),
        (DataListen("7080"), TOKENS, "expected HOST:PORT or unix:/PATH"),
        (DataListen("127.0.0.1:70800"), TOKENS, "expected HOST:PORT"),
        (DataListen("http://127.0.0.1:7080"), TOKENS, "expected HOST:PORT"),
        (DataListen("0.0.0.0:7080"), TOKENS, "set FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY, or"),
        (
            DataListen("[::]:7080"),
            (),
            "FLEETPROF_API_TLS_KEY and FLEETPROF_API_TOKENS or FLEETPROF_DATA_CLIENT_CA",
        ),
        (DataListen("10.0.0.1:7080", CERT, KEY), (), "set FLEETPROF_API_TOKENS or FLEETPROF_DATA_CLIENT_CA"),
        (DataListen("10.0.0.1:7080", None, None, HERE), TOKENS, "FLEETPROF_DATA_CLIENT_CA needs"),
        (DataListen("10.0.0.1:7080", HERE, None), TOKENS, "set FLEETPROF_API_TLS_CERT"),
        (DataListen("10.0.0.1:7080", Path("/nowhere"), HERE), TOKENS, "Cannot read /nowhere"),
    ],
)
def test_what_is_not(listen: DataListen, tokens, said: str, pair: Path, monkeypatch):
    monkeypatch.chdir(pair)
    with pytest.raises(SettingsProblem) as refused:
        check_data_exposure(listen, tokens)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            ("text", "key"),
            ("FLEETPROF_API_TLS_CERT", "/text)", "must be a certificate and its unencrypted key"),
        ),
        (
            ("cert", "text"),
            ("FLEETPROF_API_TLS_KEY", "/text)", "must be a certificate and its unencrypted key"),
        ),
        (
            ("cert", "other"),
            ("FLEETPROF_API_TLS_KEY", "/other)", "must be a certificate and its unencrypted key"),
        ),
        (
            ("cert", "locked"),
            ("FLEETPROF_API_TLS_KEY", "/locked)", "must be a certificate and its unencrypted key"),
        ),
        (("cert", "key", "text"), ("FLEETPROF_DATA_CLIENT_CA", "/text)", "must be a certificate")),
    ],
)
@pytest.mark.parametrize("address", ["10.0.0.1:7080", "127.0.0.1:0"])
def test_files_that_are_no_certificates_are_named(pair: Path, files, said, address: str):
    (pair / "text").write_text("garbage")
    (pair / "other").write_bytes(key_pem(new_key()))
    (pair / "locked").write_bytes(key_pem(new_key(), "secret"))
    with pytest.raises(SettingsProblem) as refused:
        check_data_exposure(DataListen(address, *(pair / name for name in files)), TOKENS)
    assert all(part in str(refused.value) for part in said)
