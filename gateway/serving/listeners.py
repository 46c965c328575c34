"""Listening sockets that no other user can use or replace."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Final

from gateway.errors import UnsafeAddress
from gateway.settings import Address, TcpAddress, UnixAddress

# Large enough for a burst of unverified clients before they are accepted (connections.py).
_BACKLOG: Final = 1024
# sun_path holds 108 bytes with the final NUL (unix(7)).
_LONGEST_PATH: Final = 107
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_FIRST_PASSED: Final = 3
"""SD_LISTEN_FDS_START of sd-daemon.h."""


def listen(address: Address) -> socket.socket:
    """A listening socket; raises UnsafeAddress, or OSError if the system refuses."""
    if isinstance(address, UnixAddress):
        return _listen_unix(address.path)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Python's default would keep IPv4 clients out of [::], which manifests use for "all addresses".
    both = address.host == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(
        (address.host, address.port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
    )


def take_passed() -> list[tuple[Address, socket.socket]]:
    """The sockets that the service manager passed to this process; raises UnsafeAddress.

    Protocol of sd_listen_fds(3): LISTEN_PID names the process, LISTEN_FDS the number of descriptors, from 3 on.
    Child processes do not inherit them.
    """
    meant_for, count = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if meant_for != str(os.getpid()) or not count.isdecimal() or not int(count):
        raise UnsafeAddress(
            "the service manager passed no sockets; `--listen systemd` works in a service that a socket unit starts "
            "(systemctl start fleetprof-gateway.socket)"
        )
    sockets = []
    for descriptor in range(_FIRST_PASSED, _FIRST_PASSED + int(count)):
        try:
            os.set_inheritable(descriptor, False)
            passed = socket.socket(fileno=descriptor)
        except OSError as error:
            raise UnsafeAddress(f"passed descriptor {descriptor} is not a socket: {error.strerror}") from None
        sockets.append((_address_of(passed), passed))
    return sockets


def _address_of(passed: socket.socket) -> Address:
    """The socket's address; raises UnsafeAddress if it does not listen or every user can connect to it."""
    if (
        passed.type != socket.SOCK_STREAM
        or not passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        or passed.family not in {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
    ):
        raise UnsafeAddress("a passed socket does not listen; use ListenStream= and Accept=no")
    name = passed.getsockname()
    if passed.family != socket.AF_UNIX:
        return TcpAddress(*name[:2])
    if not isinstance(name, str) or not name.startswith("/"):
        raise UnsafeAddress(f"{name!r} is an abstract socket, which every user can connect to; use a path")
    path = Path(name)
    # connect(2) needs write permission; a socket unit's default mode is 0666.
    if path.stat().st_mode & stat.S_IWOTH:
        raise UnsafeAddress(f"every user of this machine can connect to {path}; set SocketMode=0600")
    require_private(path.parent)
    return UnixAddress(path)


def require_private(folder: Path) -> None:
    """Require that only root and this user can create files in a folder; raises UnsafeAddress."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        raise UnsafeAddress(f"{folder} does not exist; make it with: mkdir -m 0700 -p {folder}") from None
    if status.st_uid not in (0, os.geteuid()):
        raise UnsafeAddress(f"{folder} belongs to user {status.st_uid}, and that user can replace the socket")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise UnsafeAddress(
            f"other users can write to {folder} and replace the socket; choose another folder or: "
            f"chmod go-w {folder}"
        )


def _listen_unix(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UnsafeAddress(f"{path} is longer than {_LONGEST_PATH} bytes, the limit for a socket")
    require_private(path.parent)
    _remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    # The mode must be right from the start: between bind and chmod every user could connect.
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    except OSError:
        listening.close()
        raise
    finally:
        os.umask(before)
    listening.listen(_BACKLOG)
    return listening


def _remove_stale(path: Path) -> None:
    """Remove the socket of a killed daemon; raises UnsafeAddress if a process listens on it."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UnsafeAddress(f"{path} exists and is not a socket; remove it or choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as error:
            raise UnsafeAddress(f"cannot check the existing {path}: {error.strerror}") from error
    raise UnsafeAddress(f"another process listens on {path}; stop it first")
