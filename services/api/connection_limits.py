"""Limits on the API's connections, in all and per address, and which idle connection is closed for a new one.

An idle connection costs a descriptor for as long as its peer likes. So when no place is free, the connection that has
been without a request in progress for longest is closed for the new one. A peer that opens connections and sends
nothing, or part of a request, displaces its own connections and not the requests of others.
"""

import asyncio
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final, Self

import structlog

from symbolizer.worker.descriptor_limit import allow_descriptors

BACKLOG: Final = 256
"""Connections that the kernel completes ahead of accept(2), and that one turn of the event loop accepts."""
HANDSHAKE_S: Final = 10.0
"""Limit of a TLS handshake; asyncio's own is 60 s."""
_SPARE_DESCRIPTORS: Final = 256
"""For the database, files, child processes and the listening sockets."""
_FEWEST: Final = 16
_LOCAL: Final = "local"
_SUBSCRIBER_BITS: Final = 64
"""Bits of an IPv6 address that identify a subscriber's network; the others are the subscriber's choice (RFC 6177)."""
_QUIET_S: Final = 60.0
"""Between two log lines about refused connections."""

_log = structlog.get_logger("fleetprof.api")


class Connection(socket.socket):
    """An accepted connection that frees its place when it is closed."""

    def join(self, connections: "Connections", peer: str) -> Self:
        """Register the connection as one of this peer's."""
        self._connections = connections
        self.peer = peer
        self.number = self.fileno()
        return self

    def close(self) -> None:
        """Free the place and close the socket."""
        self._connections.leave(self)
        super().close()


@dataclass(slots=True)
class _Peer:
    open: int = 0
    waiting: dict[int, Connection] = field(default_factory=dict)
    """Connections without a request in progress, by descriptor; the longest idle one first."""


class Connections:
    """The connections of one listening socket; for one event loop."""

    def __init__(self, most: int, most_of_one: int) -> None:
        """`most` in all, `most_of_one` per address; peers on this machine (a proxy) have only the former limit."""
        self._most = most
        self._most_of_one = most_of_one
        self._open: dict[int, Connection] = {}
        self._waiting: dict[int, Connection] = {}
        self._peers: dict[str, _Peer] = {}
        self._logged_at = float("-inf")

    @property
    def open(self) -> int:
        """Connections that have a place."""
        return len(self._open)

    def enter(self, connection: Connection) -> bool:
        """Give it a place, if necessary that of an idle connection; False: all others have requests in progress."""
        own = self._peers.get(connection.peer)
        if own is not None and connection.peer != _LOCAL and own.open >= self._most_of_one:
            room = self._displace(own.waiting)
        else:
            room = len(self._open) < self._most or self._displace(self._waiting)
        if not room:
            self._log_refusal(connection.peer)
            return False
        peer = self._peers.setdefault(connection.peer, _Peer())
        peer.open += 1
        self._open[connection.number] = connection
        self.waits(connection.number)
        return True

    def leave(self, connection: Connection) -> None:
        """Free its place; does nothing if it has none."""
        if self._open.get(connection.number) is not connection:
            return
        self.works(connection.number)
        del self._open[connection.number]
        peer = self._peers[connection.peer]
        peer.open -= 1
        if not peer.open:
            del self._peers[connection.peer]

    def waits(self, number: int) -> None:
        """Mark the connection with this descriptor as idle: no request is in progress."""
        if (connection := self._open.get(number)) is not None and number not in self._waiting:
            self._waiting[number] = self._peers[connection.peer].waiting[number] = connection

    def works(self, number: int) -> None:
        """Mark the connection with this descriptor as busy: a request is in progress."""
        if (connection := self._waiting.pop(number, None)) is not None:
            del self._peers[connection.peer].waiting[number]

    def _displace(self, waiting: dict[int, Connection]) -> bool:
        """Close the connection that has been idle for longest; False: none is idle."""
        oldest = next(iter(waiting.values()), None)
        if oldest is None:
            return False
        self.leave(oldest)
        with suppress(OSError):  # the peer has disconnected already
            # The transport sees the end and closes the connection; during a handshake no protocol exists yet that
            # could.
            oldest.shutdown(socket.SHUT_RDWR)
        return True

    def _log_refusal(self, peer: str) -> None:
        now = time.monotonic()
        if now - self._logged_at >= _QUIET_S:
            self._logged_at = now
            _log.warning(
                "connection refused: all connections have requests in progress", peer=peer, open=self.open
            )


class LimitedListener(socket.socket):
    """A listening socket that limits its accepted connections."""

    @classmethod
    def of(cls, bound: socket.socket, connections: Connections) -> Self:
        """Wrap a bound socket and take over its descriptor."""
        made = cls(bound.family, bound.type, bound.proto, fileno=bound.detach())
        made._connections = connections
        return made

    _connections: Connections

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises ConnectionAbortedError, which asyncio ignores, if no place is free."""
        plain, address = super().accept()
        # With the protocol left 0, asyncio does not set TCP_NODELAY: observed as 40 ms on every answer.
        accepted = Connection(plain.family, plain.type, plain.proto, fileno=plain.detach())
        accepted.join(self._connections, peer_of(address))
        if not self._connections.enter(accepted):
            accepted.close()
            raise ConnectionAbortedError
        return accepted, address


class ServingLoop(asyncio.SelectorEventLoop):
    """asyncio's loop whose servers limit the time of TLS handshakes."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:
        """As asyncio's, with the limit: uvicorn passes none on."""
        if isinstance(options.get("ssl"), ssl.SSLContext):
            options.setdefault("ssl_handshake_timeout", HANDSHAKE_S)
        return await super().create_server(*args, **options)


def max_connections(wanted: int) -> int:
    """The number of connections that the descriptor limit allows, `wanted` at most; raises the soft limit."""
    allowed = allow_descriptors() - BACKLOG - _SPARE_DESCRIPTORS
    if allowed >= wanted:
        return wanted
    least = max(allowed, _FEWEST)
    _log.warning(
        "fewer connections than FLEETPROF_API_CONNECTIONS: raise the hard limit on open files (ulimit -Hn)",
        connections=least,
        wanted=wanted,
    )
    return least


def peer_of(address: object) -> str:
    """The peer that a connection counts for: an IPv4 address, an IPv6 network of 64 bits, or this machine."""
    if not isinstance(address, tuple):
        return _LOCAL  # a Unix socket's peer has no address
    found: IPv4Address | IPv6Address = ip_address(str(address[0]).partition("%")[0])
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return _LOCAL
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, _SUBSCRIBER_BITS), strict=False))
    return str(found)
