"""Client connections of the public sockets: accept, wait for the handshake, connect to the server, time out."""

from __future__ import annotations

import logging
import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.serving.handshake import PendingConnection
from gateway.serving.log_rate_limit import LogRateLimit
from gateway.serving.relay import Relay
from gateway.serving.unverified_clients import UnverifiedClients, address_of

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable
    from pathlib import Path

# Of verified clients; further ones wait in the sockets' backlogs. A collector holds one connection.
_MAX_VERIFIED: Final = 64
_ABSTRACT: Final = "unix-abstract:"
"""Prefix of gRPC's name for a peer whose socket has no file (doc/naming.md of gRPC's sources)."""
_CREDENTIALS: Final = struct.Struct("=iII")

_log: Final = logging.getLogger("gateway.socket_activation")


@dataclass(frozen=True, slots=True)
class Listener:
    """A public listening socket, and the path of the server's own socket for its connections."""

    public: socket.socket
    inner: Path


class Connections:
    """All client connections; each registers itself with the selector.

    A TCP client is unverified until the server permits one of its calls.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        *,
        on_handshake: Callable[[], None],
        on_bytes: Callable[[], None],
    ) -> None:
        """`on_handshake`: a client completed its handshake. `on_bytes`: bytes moved to or from the server."""
        self._selector = selector
        self._on_handshake = on_handshake
        self._on_bytes = on_bytes
        self._pending: dict[PendingConnection, None] = {}
        self._relays: dict[Relay, str] = {}
        """With gRPC's name of each client."""
        self._unverified: UnverifiedClients[PendingConnection | Relay] = UnverifiedClients()
        self._log_limit = LogRateLimit()

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._pending) + len(self._relays)

    @property
    def has_room(self) -> bool:
        """Whether one more is accepted. Unverified clients do not count: they displace each other."""
        return len(self) - len(self._unverified) < _MAX_VERIFIED

    @property
    def is_complete(self) -> bool:
        """Whether a client with a complete handshake waits for the server."""
        return any(pending.is_complete for pending in self._pending)

    def accept(self, listener: Listener) -> None:
        """Accept one waiting connection of this listener."""
        try:
            caller, peer = listener.public.accept()
        except OSError:
            return  # the client has disconnected
        if not _is_ours(caller):
            self._log_rejected("another user's")
            caller.close()
            return
        pending = PendingConnection(
            self._selector,
            caller,
            listener.inner,
            on_handshake=self._on_handshake,
            on_end=self._on_pending_closed,
        )
        self._pending[pending] = None
        if caller.family == socket.AF_UNIX:
            return
        if (crowding := self._unverified.add(pending, address_of(peer[0]))) is not None:
            self._log_rejected("too many connections without a permitted call")
            crowding.close()

    def connect_complete(self) -> None:
        """Connect every client with a complete handshake to the server."""
        for pending in tuple(self._pending):
            if pending.is_complete:
                self._connect(pending)

    def mark_permitted(self, peer: str) -> None:
        """Mark the client that gRPC calls `peer` as verified: the server permitted one of its calls."""
        for relay, name in self._relays.items():
            if name == peer:
                self._unverified.verify(relay)

    def finish(self) -> None:
        """Deliver the ended server's last bytes to its clients."""
        for relay in tuple(self._relays):
            relay.finish()

    def close_queued(self) -> int:
        """Close the connections that wait for the server or lack a handshake; returns their number."""
        waiting = tuple(self._pending)
        for pending in waiting:
            pending.close()
        return len(waiting)

    def close(self) -> None:
        """Close all connections."""
        self.close_queued()
        for relay in tuple(self._relays):
            relay.close()

    def close_in_child(self) -> None:
        """Close the descriptors only: for a forked child; the connections and the selector belong to the parent."""
        for pending in self._pending:
            pending.close_in_child()
        for relay in self._relays:
            relay.close_in_child()

    def due(self, drain_timeout_s: float) -> list[float]:
        """CLOCK_MONOTONIC seconds at which `check_deadlines` has work, unordered."""
        draining = [since + drain_timeout_s for since in self._draining().values()]
        return draining + [pending.deadline for pending in self._pending if not pending.is_complete]

    def check_deadlines(self, now: float, drain_timeout_s: float) -> None:
        """Close the connections that exceeded a timeout."""
        for relay, since in self._draining().items():
            if now - since >= drain_timeout_s:
                relay.close()
        for pending in tuple(self._pending):
            if now >= pending.deadline and not pending.is_complete:
                pending.close("no handshake")

    def _connect(self, pending: PendingConnection) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind("")  # autobind (unix(7)): the kernel chooses a name, which the server sees
            server.connect(str(pending.inner))
        except OSError as error:
            _log.error("server unreachable", extra={"fields": {"why": error.strerror}})
            pending.close()
            server.close()
            return
        name = server.getsockname()[1:].decode()
        caller, received = pending.take()
        del self._pending[pending]
        self._on_bytes()
        relay = Relay(
            self._selector, caller, server, self._on_bytes, self._on_relay_closed, received=received
        )
        self._relays[relay] = f"{_ABSTRACT}{name}"
        self._unverified.replace(pending, relay)

    def _on_pending_closed(self, pending: PendingConnection, why: str) -> None:
        del self._pending[pending]
        self._unverified.remove(pending)
        if why:
            self._log_rejected(why)

    def _on_relay_closed(self, relay: Relay) -> None:
        del self._relays[relay]
        if relay in self._unverified:
            self._unverified.remove(relay)
            if relay.draining_since is not None:
                self._log_rejected("the server closed the connection before it permitted a call")

    def _draining(self) -> dict[Relay, float]:
        """Relays whose server has ended, each with the time of the end."""
        return {relay: since for relay in self._relays if (since := relay.draining_since) is not None}

    def _log_rejected(self, why: str) -> None:
        if (suppressed := self._log_limit.admit(why)) is not None:
            _log.warning("connection rejected", extra={"fields": {"why": why} | suppressed})


def _is_ours(caller: socket.socket) -> bool:
    """Whether a Unix client runs as root or as our user, whatever the socket's mode. TCP clients need a certificate."""
    if caller.family != socket.AF_UNIX:
        return True
    # struct ucred: pid, uid and gid at the time of connect (unix(7)).
    _, user, _ = _CREDENTIALS.unpack(
        caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return user in {0, os.geteuid()}
