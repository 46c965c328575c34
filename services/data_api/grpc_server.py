"""The gRPC server of the data API: its addresses, start and stop."""

import os
import re
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import grpc
import structlog

from fleetpb import data_pb2_grpc
from gateway.errors import BadCertificates
from gateway.serving.tls import Certificates
from services.api.auth import Access
from services.certificates.served_pair import check_authority, check_pair
from services.data_api.grpc_auth import GrpcAuth
from services.data_api.grpc_service import DataService
from services.data_api.stream_service import StreamService
from services.data_api.stream_slots import STREAMS
from services.errors import CannotStart, SettingsProblem
from services.process_setup.logs import structured

_UNIX = "unix:"
_LONGEST_PATH = 107
"""sun_path holds 108 bytes with the final NUL (unix(7))."""
_HOST_PORT = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})", re.ASCII)
_REFUSING = 4
"""Threads besides those of streams: they refuse calls when all streams are taken."""
_GRACE_S = 5.0
_CONNECTION_AGE_S = 600.0
"""A connection presents its certificate once. After this time it must reconnect with one that is valid then."""
_IDLE_S = 30.0
"""A connection without a stream for this time is closed. gRPC would keep one without calls until its maximum age."""

log = structlog.get_logger("fleetprof.data")
_reloads = structured("fleetprof.data")


@dataclass(frozen=True, slots=True)
class DataListen:
    """Where the data API listens by gRPC: `unix:/path` or `host:port` (0: a free one)."""

    address: str
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    """Authority of callers' certificates. If set, callers need a certificate."""

    @property
    def path(self) -> Path | None:
        """Path of the socket; None: a network address."""
        return Path(self.address.removeprefix(_UNIX)) if self.address.startswith(_UNIX) else None

    @property
    def secure(self) -> bool:
        """Whether the listener uses TLS."""
        return self.tls_cert is not None and self.tls_key is not None


def check_data_exposure(listen: DataListen, tokens: Sequence[str]) -> None:
    """Raises SettingsProblem for an address that other machines can reach without TLS and tokens or certificates."""
    if listen.path is not None:
        if not listen.path.is_absolute() or len(os.fsencode(listen.path)) > _LONGEST_PATH:
            raise SettingsProblem(
                f"Invalid FLEETPROF_DATA_LISTEN: unix: needs an absolute path of at most {_LONGEST_PATH} bytes."
            )
        return
    found = _HOST_PORT.fullmatch(listen.address)
    if found is None or int(found["port"]) > 65535:
        raise SettingsProblem("Invalid FLEETPROF_DATA_LISTEN: expected HOST:PORT or unix:/PATH.")
    for name, path in (
        ("FLEETPROF_API_TLS_CERT", listen.tls_cert),
        ("FLEETPROF_API_TLS_KEY", listen.tls_key),
        ("FLEETPROF_DATA_CLIENT_CA", listen.client_ca),
    ):
        if path is not None and not os.access(path, os.R_OK):
            raise SettingsProblem(f"Cannot read {path}, the value of {name}.")
    if listen.client_ca is not None and not listen.secure:
        raise SettingsProblem(
            "FLEETPROF_DATA_CLIENT_CA needs FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY."
        )
    if listen.tls_cert is not None and listen.tls_key is not None:
        check_pair(listen.tls_cert, listen.tls_key)
    if listen.client_ca is not None:
        check_authority(listen.client_ca)
    if _is_loopback(found["host"]):
        return
    missing = []
    if not listen.secure:
        missing.append("FLEETPROF_API_TLS_CERT and FLEETPROF_API_TLS_KEY")
    if not tokens and listen.client_ca is None:
        missing.append("FLEETPROF_API_TOKENS or FLEETPROF_DATA_CLIENT_CA")
    if missing:
        raise SettingsProblem(
            f"Other machines can reach the data API at {listen.address}: set {' and '.join(missing)}, "
            "or use a Unix socket or a loopback address."
        )


class DataServer:
    """The server at one address."""

    def __init__(
        self,
        listen: DataListen,
        service: StreamService,
        access: Access,
        *,
        connection_age_s: float = _CONNECTION_AGE_S,
        idle_s: float = _IDLE_S,
    ) -> None:
        """Binds the address; raises CannotStart.

        Connections older than `connection_age_s` (gRPC varies it by a tenth) accept no more calls; streams in progress
        continue. Connections without a stream for `idle_s` are closed; clients reconnect automatically.
        """
        self._listen = listen
        self._service = service
        self._server = grpc.server(
            ThreadPoolExecutor(STREAMS + _REFUSING, thread_name_prefix="data"),
            options=_options(connection_age_s, idle_s),
            maximum_concurrent_rpcs=STREAMS + _REFUSING,
        )
        auth = GrpcAuth(access, own_user=listen.path is not None)
        data_pb2_grpc.add_DataApiServicer_to_server(DataService(service, auth), self._server)
        self.port = self._bind()

    def start(self) -> None:
        """Start to answer calls, in threads."""
        self._server.start()
        where = self._listen.address
        if self.port and where.endswith(":0"):
            where = f"{where[:-1]}{self.port}"
        log.info("listening", address=where, tls=self._listen.secure)

    def stop(self) -> None:
        """End all streams. Their callers can resume them elsewhere by their cursors."""
        ended = self._server.stop(_GRACE_S)
        self._service.slots.end_all()
        ended.wait()
        if self._listen.path is not None:
            self._listen.path.unlink(missing_ok=True)

    def _bind(self) -> int:
        """The port; 0 for a socket."""
        path = self._listen.path
        if path is not None:
            _make_way(path)
        # The socket needs its mode from its creation on: between bind and chmod any user could connect.
        before = os.umask(0o177) if path is not None else None
        try:
            if self._listen.secure and path is None:
                certificates = Certificates(_files(self._listen), _reloads)
                return self._server.add_secure_port(self._listen.address, certificates.credentials())
            return self._server.add_insecure_port(self._listen.address)
        except (BadCertificates, OSError) as error:
            raise CannotStart(f"Cannot use the certificate of the data API: {error}") from error
        except RuntimeError as error:
            raise CannotStart(
                f"The data API cannot listen on {self._listen.address}; the address may be in use. "
                "Choose another with FLEETPROF_DATA_LISTEN."
            ) from error
        finally:
            if before is not None:
                os.umask(before)


def _options(connection_age_s: float, idle_s: float) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", 64 << 10),
        ("grpc.so_reuseport", 0),
        # An unanswered ping reveals a caller whose machine vanished.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 15_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.server_handshake_timeout_ms", 10_000),
        ("grpc.max_connection_age_ms", round(connection_age_s * 1000)),
        ("grpc.max_connection_idle_ms", round(idle_s * 1000)),
    ]


@dataclass(frozen=True, slots=True)
class _Files:
    """TLS files with the attribute names that `Certificates` reads."""

    certificate: Path
    key: Path
    client_authority: Path | None


def _files(listen: DataListen) -> _Files:
    assert listen.tls_cert is not None
    assert listen.tls_key is not None
    return _Files(listen.tls_cert, listen.tls_key, listen.client_ca)


def _make_way(path: Path) -> None:
    """Remove the socket of a killed process. Raises CannotStart if another process listens on it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise CannotStart(f"Another process listens on {path}: stop it, or change FLEETPROF_DATA_LISTEN.")
    if path.is_socket():
        path.unlink()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
