"""GIVEN an address for probes WHEN strangers could reach it THEN somebody must have said that they may."""

import pytest

from services.errors import SettingsProblem
from services.monitoring.metrics_address import MetricsAddress, listen_address


@pytest.mark.parametrize(
    "text", ["127.0.0.1:9464", "[::1]:9464", "localhost:0", "unix:/run/x.sock", "127.8.8.8:1"]
)
def test_what_only_this_machine_reaches_is_free(text: str):
    address = listen_address(text, allow_remote=False)
    assert str(address) == text


@pytest.mark.parametrize("text", ["0.0.0.0:9464", "[::]:9464", "10.1.2.3:9464", "metrics.example:9464"])
def test_what_others_reach_needs_a_word(text: str):
    with pytest.raises(SettingsProblem, match="FLEETPROF_METRICS_ALLOW_REMOTE"):
        listen_address(text, allow_remote=False)
    assert str(listen_address(text, allow_remote=True)) == text


@pytest.mark.parametrize(
    "text",
    ["9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "unix:x.sock", "h:²"],
)
def test_what_is_none_is_refused(text: str):
    with pytest.raises(SettingsProblem):
        listen_address(text, allow_remote=True)


@pytest.mark.parametrize("text", [None, ""])
def test_none_is_none(text):
    assert listen_address(text, allow_remote=False) is None


def test_a_name_is_not_believed_to_be_this_machine():
    assert not MetricsAddress(host="localhost.example", port=1).is_private
