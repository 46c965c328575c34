"""The connections at the doors: taken in, heard for their greeting, joined with the server, and cut in time."""

from __future__ import annotations

import logging
import os
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.serving.newcomer import Newcomer
from gateway.serving.quiet import Quiet
from gateway.serving.relay import Relay
from gateway.serving.strangers import Strangers, address_of

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable
    from pathlib import Path

# Of those that may call; more wait in the sockets' backlogs. A collector holds one connection.
_MAX_CALLERS: Final = 64
_ABSTRACT: Final = "unix-abstract:"
"""How gRPC begins the name of a peer whose socket has no file (doc/naming.md of its sources)."""
_CREDENTIALS: Final = struct.Struct("=iII")

_log: Final = logging.getLogger("gateway.doorman")


@dataclass(frozen=True, slots=True)
class Door:
    """A public listening socket, and the path on which the server listens for what comes through it."""

    public: socket.socket
    inner: Path


class Callers:
    """All of them; each registers itself with the selector.

    A caller by TCP is a stranger until the server permits one of its calls.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        *,
        on_greeting: Callable[[], None],
        on_bytes: Callable[[], None],
    ) -> None:
        """`on_greeting` hears when one waits to be let in, `on_bytes` when bytes move to or from the server."""
        self._selector = selector
        self._on_greeting = on_greeting
        self._on_bytes = on_bytes
        self._newcomers: dict[Newcomer, None] = {}
        self._relays: dict[Relay, str] = {}
        """Each with what gRPC calls it."""
        self._strangers: Strangers[Newcomer | Relay] = Strangers()
        self._quiet = Quiet()

    def __len__(self) -> int:
        """Connections that are open."""
        return len(self._newcomers) + len(self._relays)

    @property
    def has_room(self) -> bool:
        """Whether one more may be taken in. Strangers do not count: too many of them displace each other."""
        return len(self) - len(self._strangers) < _MAX_CALLERS

    @property
    def has_greeted(self) -> bool:
        """Whether one waits to be let in."""
        return any(newcomer.has_greeted for newcomer in self._newcomers)

    def accept(self, door: Door) -> None:
        """Take in who waits at this door."""
        try:
            caller, peer = door.public.accept()
        except OSError:
            return  # the caller has gone already
        if not _is_ours(caller):
            self._log_shown_out("another user's")
            caller.close()
            return
        newcomer = Newcomer(
            self._selector,
            caller,
            door.inner,
            on_greeting=self._on_greeting,
            on_end=self._see_newcomer_off,
        )
        self._newcomers[newcomer] = None
        if caller.family == socket.AF_UNIX:
            return
        if (crowding := self._strangers.add(newcomer, address_of(peer[0]))) is not None:
            self._log_shown_out("too many strangers")
            crowding.close()

    def let_in(self) -> None:
        """Join who has greeted with the server."""
        for newcomer in tuple(self._newcomers):
            if newcomer.has_greeted:
                self._join(newcomer)

    def note_permitted(self, peer: str) -> None:
        """The server permits a call of what gRPC calls `peer`: it is no stranger."""
        for relay, name in self._relays.items():
            if name == peer:
                self._strangers.permit(relay)

    def finish(self) -> None:
        """The server has ended: callers get what it sent last."""
        for relay in tuple(self._relays):
            relay.finish()

    def turn_away(self) -> int:
        """Hang up on those that wait for the server, or have not greeted; how many."""
        waiting = tuple(self._newcomers)
        for newcomer in waiting:
            newcomer.close()
        return len(waiting)

    def close(self) -> None:
        """Drop all connections."""
        self.turn_away()
        for relay in tuple(self._relays):
            relay.close()

    def let_go(self) -> None:
        """Close our descriptors and leave the connections alone: for a forked child, whose selector is its parent's."""
        for newcomer in self._newcomers:
            newcomer.let_go()
        for relay in self._relays:
            relay.let_go()

    def due(self, drained_in_s: float) -> list[float]:
        """CLOCK_MONOTONIC seconds at which `mind_time` has something to do, in no order."""
        draining = [since + drained_in_s for since in self._draining().values()]
        return draining + [newcomer.due for newcomer in self._newcomers if not newcomer.has_greeted]

    def mind_time(self, now: float, drained_in_s: float) -> None:
        """Hang up on who takes longer than it may."""
        for relay, since in self._draining().items():
            if now - since >= drained_in_s:
                relay.close()
        for newcomer in tuple(self._newcomers):
            if now >= newcomer.due and not newcomer.has_greeted:
                newcomer.close("no handshake")

    def _join(self, newcomer: Newcomer) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind("")  # the kernel chooses a name (unix(7): autobind), which the server sees
            server.connect(str(newcomer.inner))
        except OSError as error:
            _log.error("server unreachable", extra={"fields": {"why": error.strerror}})
            newcomer.close()
            server.close()
            return
        name = server.getsockname()[1:].decode()
        caller, said = newcomer.take()
        del self._newcomers[newcomer]
        self._on_bytes()
        relay = Relay(self._selector, caller, server, self._on_bytes, self._see_relay_off, said=said)
        self._relays[relay] = f"{_ABSTRACT}{name}"
        self._strangers.become(newcomer, relay)

    def _see_newcomer_off(self, newcomer: Newcomer, why: str) -> None:
        del self._newcomers[newcomer]
        self._strangers.leave(newcomer)
        if why:
            self._log_shown_out(why)

    def _see_relay_off(self, relay: Relay) -> None:
        del self._relays[relay]
        if relay in self._strangers:
            self._strangers.leave(relay)
            if relay.draining_since is not None:
                self._log_shown_out("the server hung up before it permitted a call")

    def _draining(self) -> dict[Relay, float]:
        """Callers whose server has ended, and since when."""
        return {relay: since for relay in self._relays if (since := relay.draining_since) is not None}

    def _log_shown_out(self, why: str) -> None:
        if (unsaid := self._quiet.say(why)) is not None:
            _log.warning("caller shown out", extra={"fields": {"why": why} | unsaid})


def _is_ours(caller: socket.socket) -> bool:
    """A caller on a Unix socket runs as root or as we do, whatever the socket's mode has become. Others show a certificate."""
    if caller.family != socket.AF_UNIX:
        return True
    # struct ucred: pid, uid, gid, when it connected (unix(7)).
    _, user, _ = _CREDENTIALS.unpack(
        caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return user in {0, os.geteuid()}
