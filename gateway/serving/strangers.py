"""Callers who have not shown yet that they may call: so many of each address, and so many in all.

A connection costs a stranger nothing. Who holds more than others gives way to a newcomer, so one machine, or one
network of IPv6, cannot keep the rest out.
"""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final, Generic, TypeVar

PER_ADDRESS: Final = 16
"""A collector has one or two connections to a gateway; several callers may come through one translated address."""
IN_ALL: Final = 96
"""Each may have a handshake going on in the server: two descriptors here and one there."""
_HOST_NETWORK_BITS: Final = 64
"""What one IPv6 host has to choose addresses from (RFC 4291, 2.5.1)."""

_Stranger = TypeVar("_Stranger")


class Strangers(Generic[_Stranger]):
    """Who they are, by address, the oldest first."""

    def __init__(self, *, per_address: int = PER_ADDRESS, in_all: int = IN_ALL) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._of: dict[str, dict[_Stranger, None]] = {}
        self._address: dict[_Stranger, str] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._address)

    def __contains__(self, caller: object) -> bool:
        """Whether this is one."""
        return caller in self._address

    def add(self, stranger: _Stranger, address: str) -> _Stranger | None:
        """Add one of this address; who has to go for it, and is one no more: the oldest where there are too many."""
        here = self._of.setdefault(address, {})
        here[stranger] = None
        self._address[stranger] = address
        if len(here) <= self._per_address and len(self) <= self._in_all:
            return None
        crowd = here if len(here) > self._per_address else max(self._of.values(), key=len)
        oldest = next(iter(crowd))
        self.forget(oldest)
        return oldest

    def forget(self, caller: _Stranger) -> None:
        """This one has gone, or may call; it need not have been a stranger."""
        if (address := self._address.pop(caller, None)) is None:
            return
        here = self._of[address]
        del here[caller]
        if not here:
            del self._of[address]


def address_of(host: str) -> str:
    """What counts as one address: of IPv6 the /64, of IPv4 mapped into IPv6 that of IPv4."""
    address = ip_address(host)
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _HOST_NETWORK_BITS), strict=False))
