"""GIVEN an address WHEN the data API is to listen there THEN it says what is missing, or nothing."""

from pathlib import Path

import pytest

from services.data_api.server import DataListen, check_data_exposure
from services.errors import SettingsProblem

TOKENS = ("viewer:" + "t" * 24,)
HERE = Path(__file__)


@pytest.mark.parametrize(
    ("listen", "tokens"),
    [
        (DataListen("unix:/run/data.sock"), ()),
        (DataListen("127.0.0.1:7080"), ()),
        (DataListen("[::1]:0"), TOKENS),
        (DataListen("localhost:7080"), TOKENS),
        (DataListen("0.0.0.0:7080", HERE, HERE), TOKENS),
        (DataListen("node.example:7080", HERE, HERE, HERE), ()),
    ],
)
def test_what_is_safe_enough(listen: DataListen, tokens):
    check_data_exposure(listen, tokens)


@pytest.mark.parametrize(
    ("listen", "tokens", "said"),
    [
        (DataListen("unix:data.sock"), TOKENS, "absolute path"),
        (DataListen("unix:/" + "x" * 107), TOKENS, "107 bytes"),
        (DataListen("7080"), TOKENS, "neither HOST:PORT nor unix:/PATH"),
        (DataListen("127.0.0.1:70800"), TOKENS, "neither HOST:PORT"),
        (DataListen("http://127.0.0.1:7080"), TOKENS, "neither HOST:PORT"),
        (DataListen("0.0.0.0:7080"), TOKENS, "set FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY, or"),
        (
            DataListen("[::]:7080"),
            (),
            "FLEETPROF_API_TLS_KEY and FLEETPROF_API_TOKENS or FLEETPROF_DATA_CLIENT_CA",
        ),
        (DataListen("10.0.0.1:7080", HERE, HERE), (), "set FLEETPROF_API_TOKENS or FLEETPROF_DATA_CLIENT_CA"),
        (DataListen("10.0.0.1:7080", None, None, HERE), TOKENS, "FLEETPROF_DATA_CLIENT_CA needs"),
        (DataListen("10.0.0.1:7080", HERE, None), TOKENS, "set FLEETPROF_API_TLS_CERT"),
        (DataListen("10.0.0.1:7080", Path("/nowhere"), HERE), TOKENS, "/nowhere cannot be read"),
    ],
)
def test_what_is_not(listen: DataListen, tokens, said: str):
    with pytest.raises(SettingsProblem) as refused:
        check_data_exposure(listen, tokens)
    assert said in str(refused.value)
