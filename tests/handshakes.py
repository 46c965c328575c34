"""TLS handshakes of a client that speaks HTTP/2 and offers one version of TLS."""

import contextlib
import socket
import ssl
from pathlib import Path

DEADLINE_S = 30.0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
"""With an empty SETTINGS frame (RFC 9113, 3.4)."""
REFUSED = r"EOF|HANDSHAKE_FAILURE|reset"
"""What an OSError says where the other side did not go on; gRPC hangs up without an alert."""


def client_hello() -> bytes:
    """What a client says first."""
    outgoing = ssl.MemoryBIO()
    caller = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        caller.do_handshake()
    return outgoing.read()


def offering(version: ssl.TLSVersion, authority: Path, shown: Path | None = None) -> ssl.SSLContext:
    """A client's side: `authority` signs servers, `shown` is its certificate, the key in the .key file beside it."""
    context = ssl.create_default_context(cafile=authority)
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    if shown is not None:
        context.load_cert_chain(shown, shown.with_suffix(".key"))
    return context


def negotiated(context: ssl.SSLContext, port: int) -> str | None:
    """The version by which `localhost` answered in HTTP/2, e.g. "TLSv1.3"; raises ssl.SSLError, OSError if it does not."""
    with (
        socket.create_connection(("127.0.0.1", port), DEADLINE_S) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as caller,
    ):
        caller.sendall(PREFACE)
        if not caller.recv(1):
            raise ConnectionError("it hung up")
        return caller.version()
