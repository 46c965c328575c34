"""GIVEN an address WHEN it means everybody THEN everybody can call."""

import socket

import pytest

from gateway.serving.listeners import listen
from gateway.settings import TcpAddress


@pytest.mark.parametrize("caller", ["127.0.0.1", "::1"])
def test_all_addresses_are_those_of_both_families(caller: str):
    if not socket.has_dualstack_ipv6():
        pytest.skip("rare: this kernel has no IPv6")
    with listen(TcpAddress("::", 0)) as bound:
        socket.create_connection((caller, bound.getsockname()[1]), timeout=10).close()


def test_one_address_is_that_one_alone():
    with listen(TcpAddress("127.0.0.1", 0)) as bound, pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", bound.getsockname()[1]), timeout=10)
