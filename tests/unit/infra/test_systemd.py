"""GIVEN the units WHEN certificates are rolled out, badly even THEN the node is not dark for good."""

import re
from configparser import RawConfigParser
from pathlib import Path

from gateway.privileges.capabilities import NEEDED

UNITS = Path(__file__).parents[3] / "infra/systemd"


def unit(name: str) -> str:
    return (UNITS / name).read_text()


def section(name: str, title: str) -> dict[str, str]:
    """The last value of each key."""
    parser = RawConfigParser(strict=False, delimiters="=", comment_prefixes="#", interpolation=None)
    parser.optionxform = str
    parser.read_string(unit(name))
    return dict(parser[title])


def test_a_start_that_fails_backs_off_and_is_never_the_last():
    assert section("fleetprof-gateway.service", "Unit")["StartLimitIntervalSec"] == "0"
    assert "sleep" in section("fleetprof-gateway.service", "Service")["ExecStopPost"]


def test_every_certificate_that_systemd_copies_is_looked_out_for():
    copied = re.findall(r"^LoadCredential=[\w.]+:(\S+)$", unit("fleetprof-gateway.service"), re.MULTILINE)
    looked = re.findall(r"^PathChanged=(\S+)$", unit("fleetprof-gateway-certificates.path"), re.MULTILINE)
    needed = re.findall(r"^ConditionPathExists=(\S+)$", unit("fleetprof-gateway.socket"), re.MULTILINE)
    assert copied
    assert copied == looked == needed
    assert section("fleetprof-gateway.socket", "Unit")["Wants"] == "fleetprof-gateway-certificates.path"


def test_all_kinds_of_units_are_installed():
    install = (UNITS.parent / "bundle/INSTALL").read_text()
    assert {path.suffix for path in UNITS.iterdir()} == set(re.findall(r"systemd/\*(\.\w+)", install))


def test_the_gateway_runs_as_a_user_of_its_own_with_what_sampling_needs():
    service = section("fleetprof-gateway.service", "Service")
    needed = " ".join(capability.name for capability in NEEDED)
    assert service["DynamicUser"] == "yes"
    assert service["AmbientCapabilities"].split() == needed.split()
    assert service["CapabilityBoundingSet"].split() == needed.split()
    assert service["NoNewPrivileges"] == "yes"


def test_the_gateway_has_no_network_but_its_socket_and_a_limit_of_memory():
    service = section("fleetprof-gateway.service", "Service")
    assert service["PrivateNetwork"] == "yes"
    assert re.fullmatch(r"\d+M", service["MemoryMax"])
    assert service["LimitCORE"] == "0"
