"""The operator's settings as one value. Imports nothing large: the waiting process holds it all day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from gateway.containers.label_settings import NO_LABELS, LabelSettings
from gateway.errors import UnsafeAddress
from gateway.roles import Role

_UNIX: Final = "unix:"
_SYSTEMD: Final = "systemd"
_LOOPBACK: Final = re.compile(r"127(\.\d{1,3}){3}")


class OwnProcesses(Enum):
    """Whether to sample own processes only; AUTO: if the kernel permits no more."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Share(Enum):
    """What callers may read of this machine's binaries: nothing, symbols, or whole files too."""

    NO = "no"
    SYMBOLS = "symbols"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class SymbolSharing:
    """The permitted content, and its limit in bytes before compression per request."""

    share: Share = Share.NO
    max_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The operator's limits.

    - `cpu_share`: share of all CPUs' time that a capture may cost while it runs; `max_seconds`: longest window.
    - `ttl_ms`: time to live of plans without one; `events`: name patterns (limits.is_allowed).
    - `max_bytes`: of one capture before compression; `max_memory_bytes`: of the sampling process (quota.py).
    """

    max_rate_hz: float = 1000.0
    max_seconds: float = 60.0
    max_concurrent: int = 2
    cpu_share: float = 0.03
    ttl_ms: int = 30_000
    max_bytes: int = 64 << 20
    max_memory_bytes: int = 128 << 20
    events: tuple[str, ...] = ("generic",)


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """Whether callers may load this machine's CPUs to measure them, and the limits.

    `max_seconds` is the duration of all measurements, `max_bytes` the memory of the loads, `quiet` the limit of other
    work on the CPUs, 0…1.
    """

    allowed: bool = False
    max_seconds: float = 10.0
    max_bytes: int = 96 << 20
    quiet: float = 0.2


class SourceFramesMode(Enum):
    """Whether source-level frames of interpreted programs are read, and with the interpreter's own C frames."""

    ON = "on"
    WITH_INTERPRETER = "with-interpreter"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files: the gateway's certificate chain and key, and the authority of client certificates."""

    certificate: Path
    key: Path
    client_authority: Path


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file."""

    path: Path

    def __str__(self) -> str:
        return f"{_UNIX}{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host name or address, and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in {"localhost", "::1"} or _LOOPBACK.fullmatch(self.host) is not None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class PassedSockets:
    """The sockets that the service manager opened and passed (sd_listen_fds(3))."""

    def __str__(self) -> str:
        return _SYSTEMD


Address = UnixAddress | TcpAddress


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    - `idle_s`: time after the last byte until the gRPC server ends; with `exit_when_idle` the daemon ends too.
    - `state_dir`: folder of state that outlives the daemon; None: none does.
    - `callers`: permitted certificate names with roles; empty: the roles in the certificates count.
    - `user`: the user that root becomes.
    """

    listen: tuple[Address | PassedSockets, ...]
    tls: Tls | None
    limits: Limits
    own_processes: OwnProcesses
    labels: tuple[tuple[str, str], ...]
    idle_s: float
    sharing: SymbolSharing = SymbolSharing()
    calibration: CalibrationSettings = CalibrationSettings()
    callers: tuple[tuple[str, Role], ...] = ()
    exit_when_idle: bool = False
    user: str | None = None
    state_dir: Path | None = None
    source_frames: SourceFramesMode = SourceFramesMode.ON
    names: LabelSettings = NO_LABELS
    metrics_listen: Address | None = None
    """Address of probes and metrics."""
    metrics_allow_remote: bool = False

    def __post_init__(self) -> None:
        """Refuse an address that every user could use; raises UnsafeAddress."""
        if isinstance(self.metrics_listen, TcpAddress) and not (
            self.metrics_listen.is_loopback or self.metrics_allow_remote
        ):
            raise UnsafeAddress(
                f"{self.metrics_listen} is reachable from other machines, and metrics show this "
                "machine's captures and their cost. Add --metrics-allow-remote to permit that, or "
                "use 127.0.0.1:PORT or unix:/PATH"
            )
        if self.tls is None:
            for address in self.listen:
                if isinstance(address, TcpAddress):
                    raise UnsafeAddress(
                        f"{address} is reachable from other machines, so it needs mutual TLS: set "
                        "--tls-cert, --tls-key and --tls-client-ca (`fleetprof certs` creates them), "
                        "or listen on unix:/PATH"
                    )


def parse_address(text: str) -> Address | PassedSockets:
    """Parse `unix:/path`, `host:port` with IPv6 in brackets, or `systemd`; raises ValueError with the reason."""
    if text == _SYSTEMD:
        return PassedSockets()
    if text.startswith(_UNIX):
        path = Path(text.removeprefix(_UNIX))
        if not path.is_absolute():
            raise ValueError(
                f"{text}: the socket's path must be absolute, e.g. unix:/run/fleetprof/gateway.sock"
            )
        return UnixAddress(path)
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdigit() or not 0 <= int(port) <= 0xFFFF:
        raise ValueError(f"{text}: must be unix:/PATH, HOST:PORT or systemd")
    return TcpAddress(host, int(port))
