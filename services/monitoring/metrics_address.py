"""Addresses for probes and scrapes, and which of them need explicit permission.

Metrics hold no secrets (no machine, function or text of a capture; only names of campaigns, counts and times), and
requests change nothing. Loopback addresses therefore need no permission. Any other address reveals the fleet's size and
health to strangers, and needs FLEETPROF_METRICS_ALLOW_REMOTE.
"""

from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from services.errors import SettingsProblem

_UNIX = "unix:"
_TLS = "https://"


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """A socket's path, or host and port."""

    path: Path | None = None
    host: str = ""
    port: int = 0
    tls: bool = False
    """For clients only: the API's address if it uses TLS."""

    def __str__(self) -> str:
        if self.path is not None:
            return f"{_UNIX}{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_TLS if self.tls else ''}{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether only processes of this machine, or only this user's, can reach it."""
        if self.path is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def parse(cls, text: str) -> "MetricsAddress":
        """`unix:/path`, or `host:port` with IPv6 in brackets. Raises SettingsProblem."""
        if text.startswith(_UNIX):
            path = Path(text.removeprefix(_UNIX))
            if not path.is_absolute():
                raise SettingsProblem(
                    f"Invalid address {text}: expected an absolute path, e.g. unix:/run/fleetprof/metrics.sock"
                )
            return cls(path=path)
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 0xFFFF):
            raise SettingsProblem(
                f"Invalid address {text!r}: expected unix:/PATH or HOST:PORT, e.g. 127.0.0.1:9464"
            )
        return cls(host=host, port=int(port))


def probe_address(text: str) -> MetricsAddress:
    """As `MetricsAddress.parse`, and `https://host:port` for an API with TLS. Raises SettingsProblem."""
    address = MetricsAddress.parse(text.removeprefix(_TLS).rstrip("/"))
    return replace(address, tls=text.startswith(_TLS))


def listen_address(text: str | None, *, allow_remote: bool) -> MetricsAddress | None:
    """The address, None if unset. Raises SettingsProblem for one reachable from outside without `allow_remote`."""
    if not text:
        return None
    address = MetricsAddress.parse(text)
    if not address.is_private and not allow_remote:
        raise SettingsProblem(
            f"Other machines can reach {address}, and metrics and health checks show the size and state of the fleet. "
            "Set FLEETPROF_METRICS_ALLOW_REMOTE=true to allow it, or use a loopback address or unix:/PATH."
        )
    return address
