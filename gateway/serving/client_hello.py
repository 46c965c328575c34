"""Recognizes the first bytes of a client: a TLS ClientHello, or the HTTP/2 preface on a Unix socket."""

from __future__ import annotations

from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""RFC 9113, 3.4."""
_RECORD_HEADER_BYTES: Final = 5
_HANDSHAKE_3: Final = bytes([22, 3])
"""Start of a record header (RFC 8446, 5.1): type and major version; minor version and length follow."""
_MOST_FRAGMENT_BYTES: Final = 1 << 14
_MESSAGE_HEADER_BYTES: Final = 4
_CLIENT_HELLO: Final = 1
_MOST_BYTES: Final = 1 << 14
"""Of a ClientHello and its records: the longest message that BoringSSL accepts. One with ML-KEM has some 2 KB."""
_MOST_RECORDS: Final = 8
"""Usually one; some clients split the message in two."""


def is_client_hello(received: bytes) -> bool | None:
    """Whether these bytes begin with a complete ClientHello; None: undecided until more bytes arrive.

    The message's fields are not parsed: the TLS library does that.
    """
    judged = _of_records(received[:_MOST_BYTES])
    return False if judged is None and len(received) >= _MOST_BYTES else judged


def is_preface(received: bytes) -> bool | None:
    """Whether these bytes begin with the HTTP/2 preface; None: undecided until more bytes arrive."""
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
