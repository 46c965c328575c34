"""Choose the port on which `fleetprof up` serves the web UI, and find the process that already uses it."""

import pwd
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from services.errors import CannotStart

_LISTENING: Final = "0A"
"""TCP_LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""
_HOW: Final = "Choose another with --port or FLEETPROF_API_PORT, or 0 for a free one."


@dataclass(frozen=True, slots=True)
class ChosenPort:
    """A port of 127.0.0.1 that is free to listen on."""

    number: int
    instead: str | None = None
    """Sentence with the reason why the port is not the default; None: it is the default or was given."""


def choose_port(wanted: int, *, explicit: bool, proc: Path = Path("/proc")) -> ChosenPort:
    """`wanted` if it is free, else a port chosen by the kernel. Raises CannotStart if `explicit` and in use."""
    try:
        return ChosenPort(_bound(wanted))
    except OSError as error:
        taker = listener(wanted, proc)
        taken = f"is in use by {taker}" if taker else f"cannot be used ({error.strerror})"
        if explicit:
            raise CannotStart(f"Port {wanted} of 127.0.0.1 {taken}. {_HOW}") from error
    try:
        other = _bound(0)
    except OSError as error:
        raise CannotStart(f"Cannot use any port of 127.0.0.1: {error.strerror}.") from error
    return ChosenPort(
        other, f"Port {wanted} {taken}; using {other}. To choose one: --port or FLEETPROF_API_PORT."
    )


def listener(port: int, proc: Path = Path("/proc")) -> str | None:
    """The process or user that listens on a TCP port of this machine; None if not visible to this user."""
    owners: dict[int, int] = {}
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            owners |= listening((proc / "net" / table).read_text(), port)
    for process in sorted(proc.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        if owners.keys() & _sockets(process):
            return _named(process)
    for user in owners.values():
        try:
            return f"a process of {pwd.getpwuid(user).pw_name}"
        except KeyError:
            return f"a process of user {user}"
    return None


def listening(table: str, port: int) -> dict[int, int]:
    """Parse /proc/net/tcp or tcp6: user ids of the sockets that listen on a port, by inode."""
    found = {}
    for line in table.splitlines()[1:]:
        # sl, local address, remote address, state, queues, timer, retransmits, uid, timeout, inode
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
            found[int(fields[9])] = int(fields[7])
    return found


def _bound(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return int(probe.getsockname()[1])


def _sockets(process: Path) -> frozenset[int]:
    """Inodes of a process's sockets; empty for a process of another user."""
    return frozenset(_read_sockets(process))


def _read_sockets(process: Path) -> Iterator[int]:
    with suppress(OSError):
        for file in (process / "fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                target = str(file.readlink())
                if target.startswith("socket:["):
                    yield int(target[8:-1])


def _named(process: Path) -> str:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        name = (process / "comm").read_text(errors="replace").strip()
    except OSError:  # ended meanwhile
        return f"process {process.name}"
    if {b"services", b"api"} <= set(words):
        name = "another fleetprof"
    return f"{name} (process {process.name})"
