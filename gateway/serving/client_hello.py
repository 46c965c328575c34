"""What a caller must say first: the ClientHello of TLS, or on a Unix socket the preface of HTTP/2."""

from __future__ import annotations

from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""RFC 9113, 3.4."""
_RECORD_HEADER_BYTES: Final = 5
_HANDSHAKE_3: Final = bytes([22, 3])
"""Of a record's header (RFC 8446, 5.1): its type and the major version; minor version and length follow."""
_MOST_FRAGMENT_BYTES: Final = 1 << 14
_MESSAGE_HEADER_BYTES: Final = 4
_CLIENT_HELLO: Final = 1
_MOST_BYTES: Final = 1 << 14
"""Of a ClientHello and its records: BoringSSL takes no longer message. With a key share of ML-KEM it has some 2 KB."""
_MOST_RECORDS: Final = 8
"""One does; some clients split it in two."""


def is_client_hello(received: bytes) -> bool | None:
    """Whether these bytes begin with a whole ClientHello; None: they may, more must come first.

    Its parts are not looked at: those are for the TLS library.
    """
    judged = _of_records(received[:_MOST_BYTES])
    return False if judged is None and len(received) >= _MOST_BYTES else judged


def is_preface(received: bytes) -> bool | None:
    """Whether these bytes begin with HTTP/2's preface; None: they may, more must come first."""
    if len(received) < len(_PREFACE):
        return None if _PREFACE.startswith(received) else False
    return received.startswith(_PREFACE)


def _of_records(received: bytes) -> bool | None:
    message = b""
    for _ in range(_MOST_RECORDS):
        header, received = received[:_RECORD_HEADER_BYTES], received[_RECORD_HEADER_BYTES:]
        if not _HANDSHAKE_3.startswith(header[: len(_HANDSHAKE_3)]):
            return False
        if len(header) < _RECORD_HEADER_BYTES:
            return None
        length = int.from_bytes(header[3:])
        if not 0 < length <= _MOST_FRAGMENT_BYTES:
            return False
        message += received[:length]
        if (judged := _of_message(message)) is not None:
            return judged
        if len(received) < length:
            return None
        received = received[length:]
    return False


def _of_message(message: bytes) -> bool | None:
    if message[:1] not in {b"", bytes([_CLIENT_HELLO])}:
        return False
    if len(message) < _MESSAGE_HEADER_BYTES:
        return None
    needed = _MESSAGE_HEADER_BYTES + int.from_bytes(message[1:_MESSAGE_HEADER_BYTES])
    if needed > _MOST_BYTES - _RECORD_HEADER_BYTES:
        return False
    return True if len(message) >= needed else None
