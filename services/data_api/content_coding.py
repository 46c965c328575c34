"""Content codings of an HTTP stream, flushed with every batch so that no record waits for the next."""

import zlib
from typing import Protocol

import zstandard

from services.api.formats.accept import best_coding

_LEVEL = 3
_GZIP_LEVEL = 1
_GZIP_WINDOW = 31
"""For zlib: the largest window, with gzip's header."""


class Packer(Protocol):
    """Compresses a stream batch by batch."""

    def pack(self, batch: bytes) -> bytes:
        """The compressed bytes that let the reader decode the batch."""
        ...

    def end(self) -> bytes:
        """The stream's last bytes."""
        ...


class Plain:
    """No compression."""

    def pack(self, batch: bytes) -> bytes:
        """The batch unchanged."""
        return batch

    def end(self) -> bytes:
        """No bytes."""
        return b""


class Gzip:
    """RFC 1952."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WINDOW)

    def pack(self, batch: bytes) -> bytes:
        """Compressed bytes up to the end of the batch."""
        return self._packer.compress(batch) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        """The checksum."""
        return self._packer.flush()


class Zstd:
    """RFC 8878."""

    def __init__(self) -> None:
        self._packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()

    def pack(self, batch: bytes) -> bytes:
        """Compressed bytes up to the end of the batch."""
        return self._packer.compress(batch) + self._packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def end(self) -> bytes:
        """The end of the frame."""
        return self._packer.flush()


def chosen(accept_encoding: str) -> tuple[str, Packer]:
    """The preferred coding that a header accepts, zstd before gzip; `identity` if it accepts neither."""
    match best_coding(accept_encoding):
        case "zstd":
            return "zstd", Zstd()
        case "gzip":
            return "gzip", Gzip()
        case None:
            return "identity", Plain()
