"""GIVEN all settings WHEN a part is started THEN it is given no other's credentials."""

from services.part_settings import API, COLLECTOR, EVERY_VARIABLE, WORKER, withheld
from services.settings import Settings, variables

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


def test_every_variable_is_known():
    assert {"DATABASE_URL", "FLEETPROF_REDIS_URL", "FLEETPROF_API_TOKENS"} <= EVERY_VARIABLE
