"""GIVEN all settings WHEN a part is started THEN it is given no other's credentials."""

import pytest

from services.configuration.settings import Settings, variables
from services.deployment.process_environment import API, COLLECTOR, WORKER, reaches_gateways, withheld

CREDENTIALS = {"token", "tokens", "key", "cert", "passphrase", "ca"}


def test_credentials_are_of_one_part_at_most():
    names = [name for name in Settings.model_fields if CREDENTIALS & set(name.split("_"))]
    assert {"api_tokens", "gateway_key", "ca_passphrase"} <= set(names)
    for name in names:
        given = [part for part in (API, WORKER, COLLECTOR) if not variables(name) <= withheld(part)]
        assert len(given) <= 1, name


def test_each_part_has_what_it_needs():
    assert "FLEETPROF_API_TOKENS" not in withheld(API)
    assert "FLEETPROF_GATEWAY_KEY" not in withheld(COLLECTOR)
    for part in (API, WORKER, COLLECTOR):
        assert not {"FLEETPROF_DATABASE_URL", "DATABASE_URL", "FLEETPROF_RETENTION_DAYS"} & withheld(part)


def test_the_server_side_keeps_the_credentials_of_its_archive():
    for part in (API, WORKER, COLLECTOR):
        assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} & withheld(part)


@pytest.mark.parametrize(
    "variable", ["PATH", "HOME", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "GRPC_VERBOSITY"]
)
def test_a_gateway_has_what_an_interpreter_reads(variable: str):
    assert reaches_gateways(variable)


@pytest.mark.parametrize(
    "variable",
    [
        *sorted(frozenset[str]().union(*map(variables, Settings.model_fields))),
        *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "PGPASSFILE", "GITHUB_TOKEN"),
        *("https_proxy", "HTTPS_PROXY", "grpc_proxy", "SSH_AUTH_SOCK", "SSLKEYLOGFILE", "FLEETPROF_UNKNOWN"),
    ],
)
def test_a_gateway_has_no_setting_and_no_credential(variable: str):
    assert not reaches_gateways(variable)
