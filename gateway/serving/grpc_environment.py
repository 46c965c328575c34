"""What gRPC takes from its environment, and only when it is imported: TLS 1.3 alone, and a log for errors."""

from __future__ import annotations

import os
from typing import Final

_NEVER_NEGOTIATED: Final = "ECDHE-PSK-AES128-CBC-SHA"
"""Needs a key known to both sides beforehand, which gRPC has no way to set."""


def set_grpc_environment() -> None:
    """Have gRPC negotiate TLS 1.3 alone, as server and as client, and log no handshake of strangers.

    Python's binding has no setting for the lowest version (github.com/grpc/grpc/issues/37305).
    GRPC_SSL_CIPHER_SUITES names the suites of TLS 1.2; BoringSSL's of TLS 1.3 are not affected by it. With one that
    is never negotiated a peer that offers no 1.3 is refused (NO_SHARED_CIPHER). A suite that a later gRPC does not know
    any more would keep ports from being bound: it fails closed.

    gRPC writes a line for each handshake that fails, at INFO (seen in 1.85): GRPC_VERBOSITY of the operator counts,
    else only errors are written.

    For programs, before anything imports grpc: later it has no effect.
    """
    os.environ["GRPC_SSL_CIPHER_SUITES"] = _NEVER_NEGOTIATED
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
