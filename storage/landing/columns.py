"""Columns of small non-negative integers as bytes: the shared part of the chunk codecs.

Strategy: a column of n integers is n bytes, 255 standing for "in the list behind"; the lists of
the columns follow, in order, as little-endian int64. The bytes of all columns come first, so a
reader that knows n finds everything without a header. Real columns (differences of sorted ids,
sample counts) fit a byte nine times in ten, and zstd level 1 halves what is left.

    blob     = format (1 byte) · body
    format   = 1: body is the payload as it is · 2: body is one zstd frame of it
    payload  = u8[n] per column · i64[escapes] per column

`unpack` reads thousands of blobs at once: Python touches each blob twice (decompress, slice),
numpy does the rest.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import zstandard

from storage.landing.errors import CorruptChunk

Ints = npt.NDArray[np.int64]

_STORED, _ZSTD = 1, 2
_ESCAPE = 255


class _Codecs(threading.local):
    """One compressor and one decompressor a thread: zstandard's are not safe to share."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1, write_checksum=False, write_content_size=True)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def pack(columns: Sequence[Ints]) -> bytes:
    """The blob of equally long columns of integers ≥ 0.

    Raises ValueError for a negative integer: it would be read back as another one.
    """
    inline, listed = [], []
    for column in columns:
        values = np.asarray(column, np.int64)
        if values.size and int(values.min()) < 0:
            raise ValueError("columns hold non-negative integers")
        escaped = values >= _ESCAPE
        bytes_ = values.astype(np.uint8)
        bytes_[escaped] = _ESCAPE
        inline.append(bytes_.tobytes())
        listed.append(values[escaped].astype("<i8").tobytes())
    payload = b"".join(inline + listed)
    frame = _codecs.compressor.compress(payload)
    if len(frame) < len(payload):
        return bytes((_ZSTD,)) + frame
    return bytes((_STORED,)) + payload


def unpack(blobs: Sequence[bytes | memoryview], counts: Ints, width: int) -> list[Ints]:
    """The columns of many blobs, each column concatenated over the blobs in order.

    `counts` says how many rows each blob holds, `width` how many columns. Raises CorruptChunk.
    """
    rows = np.asarray(counts, np.int64)
    if len(rows) != len(blobs):
        raise ValueError("one count for each blob")
    if not blobs:
        return [np.empty(0, np.int64) for _ in range(width)]
    payloads = [_payload(blob, n, width) for blob, n in zip(blobs, rows.tolist(), strict=True)]
    arrays = [np.frombuffer(payload, np.uint8) for payload in payloads]
    sizes = rows.tolist()
    bounds = np.concatenate(([0], np.cumsum(rows)))
    inline, escapes, per_blob = [], [], []
    for c in range(width):
        column = np.concatenate([a[c * n : c * n + n] for a, n in zip(arrays, sizes, strict=True)])
        at = np.flatnonzero(column == _ESCAPE)
        inline.append(column)
        escapes.append(at)
        per_blob.append(np.diff(np.searchsorted(at, bounds)))
    lengths = np.fromiter((len(a) for a in arrays), np.int64, len(arrays))
    if not np.array_equal(lengths, width * rows + 8 * np.sum(per_blob, axis=0)):
        bad = int(np.flatnonzero(lengths != width * rows + 8 * np.sum(per_blob, axis=0))[0])
        raise CorruptChunk(
            f"blob {bad}: {lengths[bad]} bytes do not hold {rows[bad]} rows of {width} columns"
        )
    start = width * rows
    columns = []
    for column, at, listed in zip(inline, escapes, per_blob, strict=True):
        values = column.astype(np.int64)
        if len(at):
            lists = zip(arrays, start.tolist(), (start + 8 * listed).tolist(), strict=True)
            values[at] = np.concatenate([a[lo:hi] for a, lo, hi in lists if hi > lo]).view("<i8")
            if int(values[at].min()) < _ESCAPE:
                raise CorruptChunk("an integer that fits a byte was listed")
        start = start + 8 * listed
        columns.append(values)
    return columns


def _payload(blob: bytes | memoryview, n: int, width: int) -> bytes | memoryview:
    """What a blob holds, decompressed; never more than n rows can need."""
    view = memoryview(blob)
    if view.nbytes == 0:
        raise CorruptChunk("an empty blob")
    if view[0] == _STORED:
        return view[1:]
    if view[0] != _ZSTD:
        raise CorruptChunk(f"blob format {view[0]} is not known here")
    frame = view[1:]
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= 9 * width * n:
            raise CorruptChunk(f"a blob of {n} rows claims {size} bytes")
        return _codecs.decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise CorruptChunk(f"a blob does not decompress: {error}") from error
