"""GIVEN an address WHEN a gateway is to be reached THEN it is one, or the operator learns what to write."""

import asyncio
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.channel import checked_address, open_channel
from collector.errors import BadAddress, BadCredentials

hosts = st.text(string.ascii_letters + string.digits + ".-_", min_size=1, max_size=40)


@given(hosts, st.integers(1, 65535))
def test_host_and_port(host, port):
    assert checked_address(f"{host}:{port}") == f"{host}:{port}"


@pytest.mark.parametrize("address", ["unix:/run/fleetprof/gateway.sock", "[::1]:7071", "[fe80::1%eth0]:7071"])
def test_other_addresses(address):
    assert checked_address(address) == address


@pytest.mark.parametrize(
    "address",
    ["", "host", "host:", ":7071", "host:0", "host:65536", "a b:1", "http://host:7071", "unix:run/x", "unix:///x\0", "unix:/" + "é" * 60, "ipv4:1.2.3.4:5", "host:٣"],
)  # fmt: skip
def test_what_is_no_address(address):
    with pytest.raises(BadAddress):
        checked_address(address)


def test_only_a_unix_socket_goes_without_credentials():
    async def reach(address):
        await open_channel(address, None).close()

    asyncio.run(reach("unix:/run/gateway.sock"))
    with pytest.raises(BadCredentials, match="FLEETPROF_GATEWAY_CERT"):
        asyncio.run(reach("localhost:7071"))
