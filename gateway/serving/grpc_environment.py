"""Environment variables that gRPC reads at import: TLS 1.3 only, and a log of errors only."""

from __future__ import annotations

import os
from typing import Final

_NEVER_NEGOTIATED: Final = "ECDHE-PSK-AES128-CBC-SHA"
"""Needs a pre-shared key, which gRPC cannot configure."""


def set_grpc_environment() -> None:
    """Restrict gRPC to TLS 1.3, as server and as client, and keep failed handshakes out of its log.

    Python's binding has no setting for the lowest version (github.com/grpc/grpc/issues/37305).
    GRPC_SSL_CIPHER_SUITES names the suites of TLS 1.2; BoringSSL's suites of TLS 1.3 do not depend on it. With a
    suite that is never negotiated, gRPC refuses a peer without TLS 1.3 (NO_SHARED_CIPHER). If a later gRPC does not
    know the suite, it binds no port: it fails closed.

    gRPC logs each failed handshake at INFO (seen in 1.85). GRPC_VERBOSITY is set to errors unless the operator
    sets it.

    Call it before anything imports grpc: later it has no effect.
    """
    os.environ["GRPC_SSL_CIPHER_SUITES"] = _NEVER_NEGOTIATED
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
