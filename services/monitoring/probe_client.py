"""Probe a process over TCP or its Unix socket."""

import http.client
import socket
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType

from services.errors import NotRunning
from services.monitoring.metrics_address import MetricsAddress


class _OverUnix(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def probe(
    address: MetricsAddress,
    route: str,
    *,
    timeout_s: float = 15.0,
    headers: Mapping[str, str] = _NO_HEADERS,
) -> tuple[int, str]:
    """Status and text of a route, e.g. `/readyz`. Raises NotRunning if no process responds."""
    connection = _connection(address, timeout_s)
    try:
        connection.request("GET", route, headers=dict(headers))
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise NotRunning(f"No response from {address}: {error or type(error).__name__}") from error
    finally:
        connection.close()


def _connection(address: MetricsAddress, timeout_s: float) -> http.client.HTTPConnection:
    if address.path is not None:
        return _OverUnix(str(address.path), timeout_s)
    if not address.tls:
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    # Like a kubelet's probes: no secret is sent, and the certificate names another host than 127.0.0.1.
    anybody = ssl._create_unverified_context()  # noqa: S323, SLF001 - meant
    return http.client.HTTPSConnection(address.host, address.port, timeout=timeout_s, context=anybody)


def is_ok(address: MetricsAddress, route: str) -> bool:
    """Whether the route currently responds with 200."""
    try:
        return probe(address, route, timeout_s=5.0)[0] == HTTPStatus.OK
    except NotRunning:
        return False
