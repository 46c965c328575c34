"""The certificate and key of one of our servers: whether they match, and whether they changed."""

import ssl
from pathlib import Path

from services.errors import SettingsProblem

_Stamp = tuple[tuple[int, int, int], ...]


def check_pair(certificate: Path, key: Path) -> None:
    """Raises SettingsProblem for a mismatched certificate and key; a server would only report that it cannot listen."""
    try:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key)
    except (OSError, ValueError) as error:
        raise SettingsProblem(
            f"FLEETPROF_API_TLS_CERT ({certificate}) and FLEETPROF_API_TLS_KEY ({key}) must be a "
            f"certificate and its unencrypted key, in PEM: {error}"
        ) from error


def check_authority(path: Path) -> None:
    """Raises SettingsProblem for a file without a certificate that can sign callers' certificates."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except OSError as error:
        raise SettingsProblem(
            f"FLEETPROF_DATA_CLIENT_CA ({path}) must be a certificate in PEM: {error}"
        ) from error


class ServedPair:
    """The pair that a running server presents. Not thread-safe."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Assumes that the server presents the files' current content. Raises OSError."""
        self._certificate = certificate
        self._key = key
        self._served = self._stamp()
        self._refused: _Stamp | None = None

    def show_changed(self, context: ssl.SSLContext) -> bool:
        """Make new connections of `context` present the files' current content; returns False if they already do.

        Each change gets a new context with OpenSSL's defaults: a context that is loaded twice keeps one certificate per
        kind of key, and would present the old one beside the new. The options and versions of `context` still apply.

        Raises OSError or ValueError, once per change, if the files do not match, for instance while only one is
        replaced. The old pair stays, and the files are read again when they change.
        """
        try:
            now: _Stamp = self._stamp()
        except OSError:
            now = ()
        if now in (self._served, self._refused):
            return False
        fresh = ssl.SSLContext(context.protocol)
        try:
            _load(fresh, self._certificate, self._key)
        except (OSError, ValueError):
            self._refused = now
            raise
        self._served, self._refused = now, None

        def switch(connection: ssl.SSLObject, _name: str | None, _initial: ssl.SSLContext) -> None:
            connection.context = fresh

        # Called in each handshake, also for callers that name no host.
        context.sni_callback = switch
        return True

    def _stamp(self) -> _Stamp:
        statuses = (path.stat() for path in (self._certificate, self._key))
        return tuple((status.st_ino, status.st_mtime_ns, status.st_size) for status in statuses)


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    # Empty password: for an encrypted key, OpenSSL would prompt on the terminal.
    context.load_cert_chain(certificate, key, password="")
