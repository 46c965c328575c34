"""Mutual TLS for gateways; certificate files may change while the gateway runs (rotation without a restart)."""

from __future__ import annotations

import logging
import ssl
import threading
from typing import TYPE_CHECKING, Final, Protocol

import grpc

from gateway.errors import BadCertificates
from gateway.serving.log_rate_limit import LogRateLimit

if TYPE_CHECKING:
    from pathlib import Path

_log: Final = logging.getLogger("gateway.tls")

_Stamp = tuple[tuple[int, int, int], ...]


class TlsFiles(Protocol):
    """A server's certificate files in PEM form."""

    @property
    def certificate(self) -> Path:
        """The server's certificate, and its issuers."""

    @property
    def key(self) -> Path:
        """The certificate's private key."""

    @property
    def client_authority(self) -> Path | None:
        """The authority of client certificates; None: clients need no certificate."""


class Certificates:
    """The certificate files: checked before each handshake, read again when one has changed."""

    def __init__(self, tls: TlsFiles, log: logging.Logger = _log) -> None:
        """Read the files; raises BadCertificates, OSError."""
        self._tls = tls
        self._log = log
        self._lock = threading.Lock()
        self._log_limit = LogRateLimit()
        self._stamp = _stamp(tls)
        self._first = _read(tls)

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials that require a client certificate of the authority, if there is one."""
        return grpc.dynamic_ssl_server_credentials(
            self._first,
            self.changed,  # type: ignore[arg-type]  # the stubs omit None: unchanged
            require_client_authentication=self._tls.client_authority is not None,
        )

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """The configuration for new connections; None: unchanged.

        Invalid files, or a key that does not match its certificate because only one of them has been replaced so
        far, change nothing: the files are checked again before the next handshake.
        """
        with self._lock:
            try:
                stamp = _stamp(self._tls)
                if stamp == self._stamp:
                    return None
                fresh = _read(self._tls)
            except (BadCertificates, OSError) as error:
                if (suppressed := self._log_limit.admit("unreadable")) is not None:
                    self._log.warning(
                        "certificates not reloaded", extra={"fields": {"why": str(error)} | suppressed}
                    )
                return None
            self._stamp = stamp
            self._log.info("certificates reloaded", extra={"fields": {"certificate": self._tls.certificate}})
            return fresh


def _stamp(tls: TlsFiles) -> _Stamp:
    """Changes when a file is replaced or written."""
    files = (tls.certificate, tls.key, tls.client_authority)
    return tuple(_identity(path) for path in files if path is not None)


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _read(tls: TlsFiles) -> grpc.ServerCertificateConfiguration:
    # For bad files gRPC reports only that the port could not be bound.
    trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a callback OpenSSL asks the terminal for the passphrase of an encrypted key.
        trial.load_cert_chain(tls.certificate, tls.key, password=lambda: "")
    except ssl.SSLError as error:
        raise BadCertificates(
            f"{tls.certificate} and {tls.key} are not a certificate and its key: {error.reason or error}"
        ) from error
    authority = tls.client_authority
    try:
        if authority is not None:
            trial.load_verify_locations(authority)
    except ssl.SSLError as error:
        raise BadCertificates(
            f"{authority} contains no certificate of an authority: {error.reason or error}"
        ) from error
    return grpc.ssl_server_certificate_configuration(
        [(tls.key.read_bytes(), tls.certificate.read_bytes())],
        root_certificates=None if authority is None else authority.read_bytes(),
    )
