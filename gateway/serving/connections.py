"""The connections at the doors: taken in, heard for their greeting, joined with the server, and cut in time."""

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

# Of those that may call; more wait in the sockets' backlogs. A collector holds one connection.
_MAX_VERIFIED: Final = 64
_ABSTRACT: Final = "unix-abstract:"
"""How gRPC begins the name of a peer whose socket has no file (doc/naming.md of its sources)."""
_CREDENTIALS: Final = struct.Struct("=iII")

_log: Final = logging.getLogger("gateway.socket_activation")


@dataclass(frozen=True, slots=True)
class Listener:
    """A public listening socket, and the path on which the server listens for what comes through it."""

    public: socket.socket
    inner: Path


class Connections:
    """All of them; each registers itself with the selector.

    A caller by TCP is a stranger until the server permits one of its calls.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        *,
        on_handshake: Callable[[], None],
        on_bytes: Callable[[], None],
    ) -> None:
        """`on_handshake` hears when one waits to be let in, `on_bytes` when bytes move to or from the server."""
        self._selector = selector
        self._on_handshake = on_handshake
        self._on_bytes = on_bytes
        self._pending: dict[PendingConnection, None] = {}
        self._relays: dict[Relay, str] = {}
        """Each with what gRPC calls it."""
        self._unverified: UnverifiedClients[PendingConnection | Relay] = UnverifiedClients()
        self._log_limit = LogRateLimit()

    def __len__(self) -> int:
        """Connections that are open."""
        return len(self._pending) + len(self._relays)

    @property
    def has_room(self) -> bool:
        """Whether one more may be taken in. Strangers do not count: too many of them displace each other."""
        return len(self) - len(self._unverified) < _MAX_VERIFIED

    @property
    def is_complete(self) -> bool:
        """Whether one waits to be let in."""
        return any(pending.is_complete for pending in self._pending)

    def accept(self, listener: Listener) -> None:
        """Take in who waits at this door."""
        try:
            caller, peer = listener.public.accept()
        except OSError:
            return  # the caller has gone already
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
            self._log_rejected("too many strangers")
            crowding.close()

    def connect_complete(self) -> None:
        """Join who has greeted with the server."""
        for pending in tuple(self._pending):
            if pending.is_complete:
                self._connect(pending)

    def mark_permitted(self, peer: str) -> None:
        """The server permits a call of what gRPC calls `peer`: it is no stranger."""
        for relay, name in self._relays.items():
            if name == peer:
                self._unverified.verify(relay)

    def finish(self) -> None:
        """The server has ended: callers get what it sent last."""
        for relay in tuple(self._relays):
            relay.finish()

    def close_queued(self) -> int:
        """Hang up on those that wait for the server, or have not greeted; how many."""
        waiting = tuple(self._pending)
        for pending in waiting:
            pending.close()
        return len(waiting)

    def close(self) -> None:
        """Drop all connections."""
        self.close_queued()
        for relay in tuple(self._relays):
            relay.close()

    def close_in_child(self) -> None:
        """Close our descriptors and leave the connections alone: for a forked child, whose selector is its parent's."""
        for pending in self._pending:
            pending.close_in_child()
        for relay in self._relays:
            relay.close_in_child()

    def due(self, drain_timeout_s: float) -> list[float]:
        """CLOCK_MONOTONIC seconds at which `check_deadlines` has something to do, in no order."""
        draining = [since + drain_timeout_s for since in self._draining().values()]
        return draining + [pending.deadline for pending in self._pending if not pending.is_complete]

    def check_deadlines(self, now: float, drain_timeout_s: float) -> None:
        """Hang up on who takes longer than it may."""
        for relay, since in self._draining().items():
            if now - since >= drain_timeout_s:
                relay.close()
        for pending in tuple(self._pending):
            if now >= pending.deadline and not pending.is_complete:
                pending.close("no handshake")

    def _connect(self, pending: PendingConnection) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind("")  # the kernel chooses a name (unix(7): autobind), which the server sees
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
                self._log_rejected("the server hung up before it permitted a call")

    def _draining(self) -> dict[Relay, float]:
        """Callers whose server has ended, and since when."""
        return {relay: since for relay in self._relays if (since := relay.draining_since) is not None}

    def _log_rejected(self, why: str) -> None:
        if (suppressed := self._log_limit.admit(why)) is not None:
            _log.warning("caller shown out", extra={"fields": {"why": why} | suppressed})


def _is_ours(caller: socket.socket) -> bool:
    """A caller on a Unix socket runs as root or as we do, whatever the socket's mode has become. Others show a certificate."""
    if caller.family != socket.AF_UNIX:
        return True
    # struct ucred: pid, uid, gid, when it connected (unix(7)).
    _, user, _ = _CREDENTIALS.unpack(
        caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return user in {0, os.geteuid()}
