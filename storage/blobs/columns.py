"""Columns of small non-negative integers as bytes.

Strategy: a column of n integers is n bytes, where 255 refers to the next list. That is a list of 16-bit numbers, where
65535 refers to the last list, of int64. Sample counts, and differences of ids that were assigned together, fit a byte
nine times in ten. A difference between the ids of two programs needs 16 bits. zstd level 1 then saves a third of the
bytes. All bytes come first, then all 16-bit lists, then the long ones, so a reader that is given n needs no header.

    blob     = format (1 byte) · body
    format   = 1: body is the payload as it is · 2: body is one zstd frame of it
    payload  = u8[n] per column · u16[number of 255s] per column · i64[number of 65535s] per column

`pack_many` and `unpack` handle thousands of blobs at once: Python handles each blob twice (slice, compress; decompress,
slice), numpy does the rest.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from storage.errors import CorruptChunk

Ints = npt.NDArray[np.int64]

_STORED, _ZSTD = 1, 2
_TAG_STORED, _TAG_ZSTD = bytes((_STORED,)), bytes((_ZSTD,))
_ESCAPE_8, _ESCAPE_16 = (1 << 8) - 1, (1 << 16) - 1
_LAST = (1 << 63) - 1
_WIDTHS: tuple[tuple[np.dtype[Any], int], ...] = (
    (np.dtype("u1"), _ESCAPE_8),
    (np.dtype("<u2"), _ESCAPE_16),
    (np.dtype("<i8"), _LAST),
)
"""Widths of a number, and the value that means "wider" in each."""
_LARGEST_ID = (1 << 31) - 1
_LONGEST = 1 + 2 + 8
"""Bytes of the widest number."""
_WORTH_COMPRESSING = 48
"""Bytes of payload below which a zstd frame's header takes more than compression saves."""


class _Codecs(threading.local):
    """One compressor and one decompressor per thread: zstandard's are not thread-safe."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=1, write_checksum=False, write_content_size=True)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def pack(columns: Sequence[Ints]) -> bytes:
    """The blob of columns of equal length with integers ≥ 0.

    Raises ValueError for a negative integer, which would be decoded as another one.
    """
    size = len(columns[0]) if len(columns) else 0
    return pack_many(columns, np.array([size], np.int64))[0]


def pack_many(columns: Sequence[Ints], counts: Ints) -> list[bytes]:
    """The blobs of columns that hold one blob's rows after the other's; the inverse of `unpack`.

    `counts` are the rows of each blob. Raises ValueError as `pack` does.
    """
    bounds = np.concatenate(([0], np.cumsum(counts)))
    levels: tuple[list[_Level], list[_Level], list[_Level]] = ([], [], [])
    for column in columns:
        values = np.asarray(column, np.int64)
        if len(values) != bounds[-1]:
            raise ValueError("the counts and the number of rows differ")
        if values.size and int(values.min()) < 0:
            raise ValueError("columns must hold non-negative integers")
        ends = bounds
        for level, (dtype, escape) in zip(levels, _WIDTHS, strict=True):
            level.append(_Level(np.minimum(values, escape).astype(dtype).tobytes(), ends, dtype.itemsize))
            listed = np.flatnonzero(values >= escape)
            values, ends = values[listed], np.searchsorted(listed, ends)
    pieces = [(level.source, level.cuts) for level in chain(*levels) if level.source]
    return [
        _blob(b"".join([source[cuts[i] : cuts[i + 1]] for source, cuts in pieces]))
        for i in range(len(counts))
    ]


def pack_bytes(column: npt.NDArray[np.uint8], counts: Ints) -> list[bytes]:
    """The blobs of a column of bytes that holds one blob's rows after the other's; inverse of `unpack_bytes`."""
    source, ends = column.tobytes(), np.cumsum(counts).tolist()
    if len(source) != (ends[-1] if ends else 0):
        raise ValueError("the counts and the number of rows differ")
    return [_blob(source[low:high]) for low, high in pairwise([0, *ends])]


def _blob(payload: bytes) -> bytes:
    frame = _codecs.compressor.compress(payload) if len(payload) >= _WORTH_COMPRESSING else payload
    return _TAG_ZSTD + frame if len(frame) < len(payload) else _TAG_STORED + payload


class _Level:
    """One width of one column of all blobs, and where each blob's part of it begins."""

    def __init__(self, source: bytes, ends: Ints, width: int) -> None:
        self.source = source
        self.cuts: list[int] = (ends * width).tolist()


def unpack(blobs: Sequence[bytes | memoryview], counts: Ints, width: int) -> list[Ints]:
    """The columns of many blobs, each column concatenated over the blobs in order.

    `counts` are the rows of each blob, `width` is the number of columns. Raises `CorruptChunk`.
    """
    rows = np.asarray(counts, np.int64)
    if len(rows) != len(blobs):
        raise ValueError("the number of counts and of blobs differ")
    if not blobs:
        return [np.empty(0, np.int64) for _ in range(width)]
    payloads = [_payload(blob, n, width) for blob, n in zip(blobs, rows.tolist(), strict=True)]
    lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
    whole = np.frombuffer(b"".join(payloads), np.uint8)
    first = np.cumsum(lengths) - lengths
    if (short := np.flatnonzero(lengths < width * rows)).size:
        raise CorruptChunk(_misfit(int(short[0]), lengths, rows, width))
    columns: list[Ints] = []
    sizes = [rows] * width  # of each column's list of the current width
    escaped: list[Ints | None] = [None] * width  # positions of its numbers
    at = first
    for dtype, escape in _WIDTHS:
        # The lists before imply these lengths, which are used only if they fit the blob.
        beyond = at + dtype.itemsize * np.sum(sizes, axis=0) > first + lengths
        if beyond.any():
            raise CorruptChunk(_misfit(int(np.flatnonzero(beyond)[0]), lengths, rows, width))
        for c, size in enumerate(sizes):
            values = _gather(whole, at, size, dtype)
            at = at + dtype.itemsize * size
            where = escaped[c]
            if where is None:
                columns.append(values)
            elif len(where):
                columns[c][where] = values
                if int(values.min()) < _smallest(dtype):
                    raise CorruptChunk("an integer is stored wider than necessary")
            if escape == _LAST:
                continue
            listed = np.flatnonzero(values == escape)
            bounds = np.concatenate(([0], np.cumsum(size)))
            sizes[c] = np.diff(np.searchsorted(listed, bounds))
            escaped[c] = listed if where is None else where[listed]
    if not np.array_equal(at, first + lengths):
        raise CorruptChunk(_misfit(int(np.flatnonzero(at != first + lengths)[0]), lengths, rows, width))
    return columns


def unpack_bytes(blobs: Sequence[bytes | memoryview], counts: Ints) -> npt.NDArray[np.uint8]:
    """The bytes of many blobs, concatenated in order; `counts` are the bytes of each. Raises `CorruptChunk`."""
    payloads = [_payload(blob, n, 1) for blob, n in zip(blobs, counts.tolist(), strict=True)]
    if any(len(payload) != n for payload, n in zip(payloads, counts.tolist(), strict=True)):
        raise CorruptChunk("a blob has a wrong number of bytes")
    return np.frombuffer(b"".join(payloads), np.uint8)


def unpack_two(
    of_one: npt.NDArray[np.bool_],
    counts: Ints,
    one: Callable[[Ints], Sequence[Ints]],
    other: Callable[[Ints], Sequence[Ints]],
) -> Sequence[Ints]:
    """The columns of blobs in two forms, each column concatenated over the blobs in order.

    `of_one` marks the blobs of the first form, `counts` are the rows of each blob; `one` and `other` read the blobs of
    their form, given their indices.
    """
    places = np.flatnonzero(of_one), np.flatnonzero(~of_one)
    if not len(places[0]):
        return other(places[1])
    if not len(places[1]):
        return one(places[0])
    columns = [np.concatenate(parts) for parts in zip(one(places[0]), other(places[1]), strict=True)]
    # The position of each blob's rows, as those of the first form precede those of the other.
    order = np.concatenate(places)
    begins = np.empty(len(counts), np.int64)
    begins[order] = np.cumsum(counts[order]) - counts[order]
    at = np.repeat(begins - (np.cumsum(counts) - counts), counts)
    at += np.arange(len(at))
    for c, column in enumerate(columns):  # one at a time, as all at once would need twice the memory
        columns[c] = column[at]
    return columns


_LONG = 200
"""Numbers per blob from which joining slices is faster than computing indices."""


def _gather(whole: npt.NDArray[np.uint8], at: Ints, size: Ints, dtype: np.dtype[Any]) -> Ints:
    """`size[i]` numbers from byte `at[i]` on, one blob's after the other's."""
    total = int(size.sum())
    if not total:
        return np.empty(0, np.int64)
    step = dtype.itemsize
    if total >= _LONG * len(size):
        ends = at + step * size
        parts = [whole[low:high] for low, high in zip(at.tolist(), ends.tolist(), strict=True)]
        joined: Ints = np.concatenate(parts).view(dtype).astype(np.int64)
        return joined
    places = np.repeat(at - step * (np.cumsum(size) - size), size) + step * np.arange(total)
    if step == 1:
        return whole[places].astype(np.int64)
    numbers: Ints = whole[places[:, None] + np.arange(step)].view(dtype)[:, 0].astype(np.int64)
    return numbers


def _smallest(dtype: np.dtype[Any]) -> int:
    return _ESCAPE_8 if dtype.itemsize == 2 else _ESCAPE_16


def _misfit(blob: int, lengths: Ints, rows: Ints, width: int) -> str:
    return f"blob {blob}: {lengths[blob]} bytes do not hold {rows[blob]} rows of {width} columns"


def _payload(blob: bytes | memoryview, n: int, width: int) -> bytes | memoryview:
    """The decompressed payload of a blob; never more than n rows can need."""
    view = memoryview(blob)
    if view.nbytes == 0:
        raise CorruptChunk("an empty blob")
    if view[0] == _STORED:
        return view[1:]
    if view[0] != _ZSTD:
        raise CorruptChunk(f"blob format {view[0]} is unknown")
    frame = view[1:]
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= _LONGEST * width * n:
            raise CorruptChunk(f"a blob of {n} rows claims {size} bytes")
        return _codecs.decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise CorruptChunk(f"cannot decompress a blob: {error}") from error


def steps(ids: Ints, counts: Ints) -> Ints:
    """Ids, one blob after the other, as differences; the first of each blob is unchanged."""
    found = np.diff(ids, prepend=0)
    first = (np.cumsum(counts) - counts)[counts > 0]
    found[first] = ids[first]
    return found


def from_steps(differences: Ints, counts: Ints) -> Ints:
    """The inverse of `steps`. Raises `CorruptChunk` for an id that is not in 0…2³¹−1."""
    filled = counts[counts > 0]
    if not len(filled):
        return differences
    ids = np.cumsum(differences)
    first = np.cumsum(filled) - filled
    ids -= np.repeat(ids[first] - differences[first], filled)
    if int(ids.min()) < 0 or int(ids.max()) > _LARGEST_ID:
        raise CorruptChunk("an id beyond 31 bits")
    return ids
