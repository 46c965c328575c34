"""Limits connections of unverified clients: so many per address, and so many in all.

A connection costs the client nothing; a handshake costs the server some 2 ms and, by the thousand, memory. The address
with the most connections gives way to a new one, and an address that reconnects too often is refused: so one
machine, or one network of IPv6, cannot keep the others out.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

PER_ADDRESS: Final = 16
"""Concurrent, and as many new ones a second. A collector has one or two connections to a gateway; several callers may
share one translated address."""
IN_ALL: Final = 96
"""Each may have a handshake in progress: two descriptors here and one in the server."""
_REMEMBERED_S: Final = 1.0
_HOST_NETWORK_BITS: Final = 64
"""The part of an address that one IPv6 host can choose (RFC 4291, 2.5.1)."""

_Client = TypeVar("_Client")


@dataclass(slots=True)
class _AddressClients(Generic[_Client]):
    """Clients of one address: the connected ones, the oldest first, and the times at which others left."""

    connected: dict[_Client, None] = field(default_factory=dict)
    left: deque[float] = field(default_factory=deque)


class UnverifiedClients(Generic[_Client]):
    """Unverified clients by address."""

    def __init__(
        self,
        *,
        per_address: int = PER_ADDRESS,
        in_all: int = IN_ALL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_address = per_address
        self._in_all = in_all
        self._clock = clock
        self._by_address: dict[str, _AddressClients[_Client]] = {}
        self._address: dict[_Client, str] = {}
        self._swept = clock()

    def __len__(self) -> int:
        """Number of unverified clients."""
        return len(self._address)

    def __contains__(self, caller: object) -> bool:
        """Whether this client is unverified."""
        return caller in self._address

    def add(self, client: _Client, address: str) -> _Client | None:
        """Add a client; returns the client to disconnect for it, which is removed here.

        That is the new client if as many have left within a second, else the oldest one above the limit.
        """
        self._sweep()
        clients = self._by_address.setdefault(address, _AddressClients())
        self._forget_old(clients)
        if len(clients.left) >= self._per_address:
            return client
        clients.connected[client] = None
        self._address[client] = address
        if len(clients.connected) <= self._per_address and len(self) <= self._in_all:
            return None
        if len(clients.connected) <= self._per_address:
            clients = max(self._by_address.values(), key=lambda each: len(each.connected))
        oldest = next(iter(clients.connected))
        self.remove(oldest)
        return oldest

    def replace(self, before: _Client, after: _Client) -> None:
        """Let `after` stand for the client `before`, if that is unverified."""
        if (address := self._address.pop(before, None)) is not None:
            connected = self._by_address[address].connected
            del connected[before]
            connected[after] = None
            self._address[after] = address

    def verify(self, caller: _Client) -> None:
        """Remove a client that may call; does nothing for a verified one."""
        if (address := self._address.pop(caller, None)) is not None:
            del self._by_address[address].connected[caller]

    def remove(self, caller: _Client) -> None:
        """Remove a client that has disconnected; does nothing for a verified one."""
        if (address := self._address.get(caller)) is not None:
            self.verify(caller)
            self._by_address[address].left.append(self._clock())

    def _sweep(self) -> None:
        """Drop addresses without recent clients."""
        if self._clock() - self._swept < _REMEMBERED_S:
            return
        self._swept = self._clock()
        for address, clients in tuple(self._by_address.items()):
            self._forget_old(clients)
            if not clients.connected and not clients.left:
                del self._by_address[address]

    def _forget_old(self, clients: _AddressClients[_Client]) -> None:
        while clients.left and self._clock() - clients.left[0] >= _REMEMBERED_S:
            clients.left.popleft()


def address_of(host: str) -> str:
    """The unit of the per-address limit: the /64 for IPv6; IPv4 mapped into IPv6 counts as IPv4."""
    address = ip_address(host)
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _HOST_NETWORK_BITS), strict=False))
