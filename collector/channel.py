"""Channels to gateways: Unix sockets without TLS, all other addresses only with mutual TLS (docs/architecture.md)."""

import re
from dataclasses import dataclass
from pathlib import Path

import grpc

from collector.errors import BadAddress, BadCredentials

MAX_MESSAGE_BYTES = 1 << 20
"""Limit of one message from a gateway: the largest are pieces of 256 KiB and its description."""

_HOST_PORT = re.compile(
    r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]):(?P<port>[0-9]{1,5})", re.ASCII
)
_MAX_SOCKET_PATH = 107  # sun_path of struct sockaddr_un, less its final NUL


_WHY_NO_TLS = {  # error texts of gRPC and BoringSSL
    "Hostname Verification Check failed": "The server presents the certificate of another machine.",
    "unsupported certificate purpose": "The server presents a certificate that is not a gateway's.",
    "unable to get local issuer certificate": "The server presents a certificate that FLEETPROF_GATEWAY_CA did not sign.",
    "certificate has expired": "The gateway's certificate has expired; renew it: fleetprof certs renew.",
    "certificate is not yet valid": "The gateway's certificate is not valid yet; check the clocks of both machines.",
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """The collector's certificate and the authority for those of gateways; paths of PEM files."""

    ca: Path
    """Authority that must have signed the gateways' certificates."""
    certificate: Path
    key: Path


def checked_address(address: str) -> str:
    """The address if a gateway can listen there: unix:/absolute/path or host:port. Raises `BadAddress`."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        if not path.startswith("/") or "\0" in path:
            raise BadAddress(
                f"Invalid socket {address!r}: expected unix: and an absolute path, e.g. unix:/run/gateway.sock"
            )
        if len(path.encode()) > _MAX_SOCKET_PATH:
            raise BadAddress(
                f"The socket path {path!r} is longer than the {_MAX_SOCKET_PATH} bytes the kernel allows."
            )
        return address
    match = _HOST_PORT.fullmatch(address)
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise BadAddress(
            f"Invalid address {address!r}: expected host:port, e.g. node7.example:7071, or unix:/path"
        )
    return address


def why_no_tls(details: str) -> str:
    """A sentence about the gateway's certificate, from a failed call's details; "" if they do not concern it."""
    return next((meaning for words, meaning in _WHY_NO_TLS.items() if words in details), "")


def open_channel(address: str, credentials: Credentials | None) -> grpc.aio.Channel:
    """A separate channel to one gateway; connects on first use, close it after the visit.

    Over the network the gateway must present a certificate for serving (extended key usage) and for the host of
    `address`, signed by `credentials.ca`. `fleetprof certs` issues such certificates to gateways only; another
    machine's certificate or a client certificate is refused. The files are read for each channel, so renewed
    ones are in effect from the next visit on.

    Raises `BadAddress`, and `BadCredentials` for an address other than a Unix socket without
    readable files.
    """
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.use_local_subchannel_pool", 1),  # without it a failed visit's back-off delays the next one
        ("grpc.enable_retries", 0),  # a visit id is served once
        ("grpc.enable_http_proxy", 0),  # the environment's proxy is not for machines of the fleet
    ]
    if checked_address(address).startswith("unix:"):
        return grpc.aio.insecure_channel(address, options=options)
    if credentials is None:
        raise BadCredentials(
            f"{address} is not a Unix socket, so the connection needs mutual TLS: set "
            "FLEETPROF_GATEWAY_CA, FLEETPROF_GATEWAY_CERT and FLEETPROF_GATEWAY_KEY to PEM files."
        )
    return grpc.aio.secure_channel(address, _mutual_tls(credentials), options=options)


def _mutual_tls(credentials: Credentials) -> grpc.ChannelCredentials:
    try:
        return grpc.ssl_channel_credentials(
            root_certificates=credentials.ca.read_bytes(),
            private_key=credentials.key.read_bytes(),
            certificate_chain=credentials.certificate.read_bytes(),
        )
    except OSError as error:
        raise BadCredentials(
            f"Cannot read {error.filename} ({error.strerror}): set FLEETPROF_GATEWAY_CA, FLEETPROF_GATEWAY_CERT and "
            "FLEETPROF_GATEWAY_KEY to files that the collector may read."
        ) from error
