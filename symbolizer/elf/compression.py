"""Compressed sections of ELF files: SHF_COMPRESSED by zlib or zstd (gABI chapter 4), and GNU's older .zdebug_*.

Strategy: bytes in, bytes out, never more than requested. A header may state any size; the allocation follows
the actual output, in steps, so a file of one kilobyte cannot make the reader allocate a gigabyte. The
compressed data is read in steps too: a sparse section may have a gigabyte of file and not a byte on disk.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import zstandard

from symbolizer.elf.content import Source
from symbolizer.elf.records import ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, record
from symbolizer.errors import MalformedElf

_STEP: Final = 1 << 20
_MAX_WINDOW: Final = 1 << 27
"""zstd's own limit for untrusted streams: `zstd --long=27`."""
_GNU_MAGIC: Final = b"ZLIB"
_GNU_HEADER: Final = 12


def decompressed(data: Source, bits: int, order: str, *, limit: int, whole: bool = True) -> bytes:
    """Content of a section with SHF_COMPRESSED.

    `whole`: the whole section, which must have its header's size and at most `limit` bytes; otherwise its first
    `limit` bytes. Raises `MalformedElf`.
    """
    dtype = record("compression", bits, order)
    if len(data) < dtype.itemsize:
        raise MalformedElf("A compressed section is shorter than its header.")
    header = np.frombuffer(data[: dtype.itemsize], dtype, 1)[0]
    method = _METHODS.get(int(header["type"]))
    if method is None:
        raise MalformedElf(f"A section is compressed by the unknown method {header['type']}.")
    return _taken(method(_Compressed(data, dtype.itemsize)), int(header["size"]), limit, whole=whole)


def gnu_decompressed(data: Source, *, limit: int, whole: bool = True) -> bytes:
    """Content of a section named .zdebug_…; as `decompressed`."""
    if len(data) < _GNU_HEADER or data[:4] != _GNU_MAGIC:
        raise MalformedElf("A .zdebug section does not begin with ZLIB.")
    return _taken(
        _zlib(_Compressed(data, _GNU_HEADER)), int.from_bytes(data[4:_GNU_HEADER], "big"), limit, whole=whole
    )


def _taken(chunks: Iterator[bytes], size: int, limit: int, *, whole: bool) -> bytes:
    if whole and size > limit:
        raise MalformedElf(f"A compressed section claims {size} bytes; the limit is {limit}.")
    wanted = min(size, limit)
    parts, have = [], 0
    try:
        for chunk in chunks:
            parts.append(chunk)
            have += len(chunk)
            if have >= wanted:
                break
    except (zlib.error, zstandard.ZstdError) as error:
        raise MalformedElf(f"Cannot decompress a section: {error}.") from error
    if whole and have < size:
        raise MalformedElf(f"A compressed section has {have} bytes instead of the claimed {size}.")
    return b"".join(parts)[:wanted]


class _Compressed:
    """The data after a header, read forward."""

    def __init__(self, data: Source, at: int) -> None:
        self._data = data
        self._at = at

    def read(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part


def _zlib(body: _Compressed) -> Iterator[bytes]:
    decompressor = zlib.decompressobj()
    while not decompressor.eof and (rest := body.read(_STEP)):
        while chunk := decompressor.decompress(rest, _STEP):
            yield chunk
            rest = decompressor.unconsumed_tail


def _zstd(body: _Compressed) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    reader = decompressor.stream_reader(body)  # type: ignore[arg-type]  # it only calls `read`
    while chunk := reader.read(_STEP):
        yield chunk


_METHODS: Final[dict[int, Callable[[_Compressed], Iterator[bytes]]]] = {
    ELFCOMPRESS_ZLIB: _zlib,
    ELFCOMPRESS_ZSTD: _zstd,
}
