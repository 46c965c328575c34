"""The certificate and the key that a server of ours shows: whether they are a pair, and whether they changed."""

import ssl
from pathlib import Path

from services.errors import SettingsProblem

_Stamp = tuple[tuple[int, int, int], ...]


def check_pair(certificate: Path, key: Path) -> None:
    """Raises SettingsProblem for files that are no certificate and its key: servers say no more than that they cannot listen."""
    try:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key)
    except (OSError, ValueError) as error:
        raise SettingsProblem(
            f"FLEETPROF_API_TLS_CERT ({certificate}) and FLEETPROF_API_TLS_KEY ({key}) must be a "
            f"certificate and its unencrypted key, in PEM: {error}"
        ) from error


def check_authority(path: Path) -> None:
    """Raises SettingsProblem for a file without a certificate that callers' could be signed by."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except OSError as error:
        raise SettingsProblem(
            f"FLEETPROF_DATA_CLIENT_CA ({path}) must be a certificate in PEM: {error}"
        ) from error


class ServedPair:
    """The pair of a server that runs; one at a time may ask."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """What the files hold now is what is served. Raises OSError."""
        self._certificate = certificate
        self._key = key
        self._served = self._stamp()
        self._refused: _Stamp | None = None

    def show_changed(self, context: ssl.SSLContext) -> bool:
        """Have new connections of `context` shown what the files hold now; False: it is what is shown already.

        Each change gets a context of its own, of OpenSSL's defaults: one that is loaded into twice keeps a certificate
        of each kind of key, and would show the old one beside the new. Of `context` hold its options and versions.

        Raises OSError or ValueError, once for each change, for files that are no pair, as when only one of them was
        replaced yet: the old pair goes on, and they are looked at again when they change.
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

        # Called in each handshake, for callers that name no host, too.
        context.sni_callback = switch
        return True

    def _stamp(self) -> _Stamp:
        statuses = (path.stat() for path in (self._certificate, self._key))
        return tuple((status.st_ino, status.st_mtime_ns, status.st_size) for status in statuses)


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    # An empty password: OpenSSL would ask the terminal for that of an encrypted key.
    context.load_cert_chain(certificate, key, password="")
