"""The blobs of weighted cells: their moments (`long_moments.Parts`), and plain doubles.

blob    = version · rows u32 · cell: machine bits i64, the scalars f64 · length u32 · packed columns
        · one zstd frame of the doubles, byte by byte of significance: self and total first
version = 2: a u64 precedes the packed columns; these are function step, visits, observed self and total − self,
          the last two in multiples of that number; machine bits, as i64, follow the doubles
"""

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from storage.arrays import Bool, Float, Int64, among, counts
from storage.blobs.columns import from_steps, pack_many, steps, unpack
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup.long_moments import SCALARS, SQUARES, Parts

_VERSION = 2
_HEAD = struct.Struct("<BIq7dI")
_DIVISOR = struct.Struct("<Q")
_ROW_BYTES = 96
"""Memory per function of a cell while first sums are unpacked."""
Blobs = Sequence[bytes | memoryview]


def encode(parts: Parts) -> list[bytes]:
    """Encode one blob per cell."""
    bounds = np.concatenate(([0], np.cumsum(parts.count))).tolist()
    divisors = _divisors(parts)
    of_row = np.repeat(divisors, parts.count)
    own, rest = parts.own_units // of_row, (parts.total_units - parts.own_units) // of_row
    packed = pack_many([steps(parts.function, parts.count), parts.visits, own, rest], parts.count)
    doubles = np.stack((parts.own, parts.total)).astype("<f8")
    squares = np.stack([getattr(parts, name) for name in SQUARES]).astype("<f8")
    bits = parts.row_machines.astype("<i8")
    scalars = np.stack([getattr(parts, name) for name in SCALARS], axis=1).tolist()
    compressor = zstandard.ZstdCompressor(level=1)
    blobs = []
    for i, (low, high) in enumerate(itertools.pairwise(bounds)):
        columns = _DIVISOR.pack(int(divisors[i])) + packed[i]
        head = _HEAD.pack(_VERSION, high - low, int(parts.machines[i]), *scalars[i], len(columns))
        body = shuffled(doubles[:, low:high]) + shuffled(squares[:, low:high]) + shuffled(bits[low:high])
        blobs.append(head + columns + compressor.compress(body))
    return blobs


def _divisors(parts: Parts) -> Int64:
    """The greatest common divisor of each cell's observed amounts."""
    divisors = np.zeros(len(parts), np.int64)
    for column in (parts.own_units, parts.total_units):
        np.gcd.at(divisors, parts.cell, column)
    return np.maximum(divisors, 1)


def decode(blobs: Blobs, wanted: Bool | None = None) -> Parts:
    """The parts of many cells, in order; of all functions, or those `wanted` by id. Raises `CorruptCell`."""
    return WeightedMoments(blobs).parts(wanted)


def decode_heads(blobs: Blobs) -> Parts:
    """The parts of many weighted cells, without functions. Raises `CorruptCell`."""
    try:
        heads = [_HEAD.unpack_from(blob) for blob in blobs]
    except struct.error as error:
        raise CorruptCell(f"weighted moments have no header: {error}") from error
    scalars = np.array([head[3:10] for head in heads], np.float64).reshape(len(heads), 7).T
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    bits, none = np.array([head[2] for head in heads], np.int64), np.zeros(len(heads), np.int64)
    arguments: list[Any] = [bits, *scalars, none, *(no_rows,) * 3, *(nothing,) * 10, *(no_rows,) * 2]
    return Parts(*arguments)


@dataclass(frozen=True, slots=True)
class WeightedAmounts:
    """First sums by function of weighted cells, in columns, cell by cell."""

    function: Int64
    own_units: Int64
    """Observed units, as is `total_units`."""
    total_units: Int64
    own: Float
    """Estimates for the fleet, as is `total`."""
    total: Float

    def of(self, rows: slice) -> "WeightedAmounts":
        """Some of the rows."""
        names = ("function", "own_units", "total_units", "own", "total")
        return WeightedAmounts(*(getattr(self, name)[rows] for name in names))


class WeightedMoments:
    """The blobs of many cells; columns that several methods need are unpacked at first use and cached."""

    def __init__(self, blobs: Blobs) -> None:
        """Reads nothing yet."""
        self._blobs = blobs

    def of(self, cells: Int64) -> "WeightedMoments":
        """The given cells, in the given order, not unpacked."""
        return WeightedMoments([self._blobs[cell] for cell in cells.tolist()])

    @property
    def stored(self) -> int:
        """Bytes of the blobs."""
        return sum(map(len, self._blobs))

    @property
    def size(self) -> int:
        """Bytes that `amounts` unpacks, half of which are retained; from the heads. Raises `CorruptCell`."""
        return _ROW_BYTES * int(self._parted.rows.sum())

    @property
    def whole_size(self) -> int:
        """Bytes that `parts` unpacks besides its result; from the heads. Raises `CorruptCell`."""
        return self.size + int(self._parted.sizes.sum())

    @property
    def rows(self) -> Int64:
        """Functions of each cell, from the heads. Raises `CorruptCell`."""
        return self._parted.rows

    def amounts(self) -> WeightedAmounts:
        """First sums of all functions, without the squares (nine tenths of the bytes). Raises `CorruptCell`."""
        parted = self._parted
        decompressor = zstandard.ZstdDecompressor()
        doubles = [np.zeros((2, 0))]
        for frame, n, size in zip(parted.frames, parted.rows.tolist(), parted.sizes.tolist(), strict=True):
            doubles.append(unshuffled(_beginning(decompressor, frame, n * 16, size), "<f8", 2, n))
        function, _, own_units, total_units = self._columns
        own, total = _finite(np.concatenate(doubles, axis=1))
        return WeightedAmounts(function, own_units, total_units, own, total)

    def parts(self, wanted: Bool | None = None) -> Parts:
        """As `decode`."""
        parted = self._parted
        decompressor = zstandard.ZstdDecompressor()
        bodies = [
            _body(decompressor, frame, size)
            for frame, size in zip(parted.frames, parted.sizes.tolist(), strict=True)
        ]
        rows = kept = parted.rows
        columns = self._columns
        chosen: list[Int64 | None] = [None] * len(rows)
        if wanted is not None and len(rows):
            keep = among(columns[0], wanted)
            cell = np.repeat(np.arange(len(rows)), rows)[keep]
            columns = [column[keep] for column in columns]
            kept = counts(cell, len(rows))
            chosen = list(np.split(keep - (np.cumsum(rows) - rows)[cell], np.cumsum(kept)[:-1]))
        doubles, found, bits = [], [], []
        for body, n, of in zip(bodies, rows.tolist(), chosen, strict=True):
            view, first, cut = memoryview(body), n * 16, n * _WIDTH * 8
            doubles.append(unshuffled(view[:first], "<f8", 2, n, of))
            found.append(unshuffled(view[first:cut], "<f8", len(SQUARES), n, of))
            bits.append(unshuffled(view[cut:], "<i8", 1, n, of)[0])
        y = _finite(np.concatenate(doubles, axis=1) if doubles else np.zeros((2, 0)))
        squares = _finite(_beside(found))
        function, visits, own_units, total_units = columns
        machines = np.concatenate(bits).astype(np.int64) if bits else np.zeros(0, np.int64)
        arguments: list[Any] = [
            parted.machines,
            *parted.scalars,
            kept,
            function,
            visits,
            machines,
            *y,
            *squares,
        ]
        arguments += [own_units, total_units]
        return Parts(*arguments)

    @cached_property
    def _parted(self) -> "_Parted":
        return _Parted.of(self._blobs)

    @cached_property
    def _columns(self) -> list[Int64]:
        return self._parted.columns()


_WIDTH = 2 + len(SQUARES)
"""Doubles of a row."""


@dataclass(frozen=True, slots=True)
class _Parted:
    """Split blobs: columns over cells, the packed columns of their rows, and the frames of doubles."""

    machines: Int64
    scalars: Float
    """(7, cells)."""
    rows: Int64
    divisors: Int64
    packed: list[memoryview]
    frames: list[memoryview]

    @classmethod
    def of(cls, blobs: Blobs) -> "_Parted":
        """Split the blobs. Raises `CorruptCell`."""
        heads, divisors, packed, frames = [], [], [], []
        for data in blobs:
            blob = memoryview(data)
            if blob.nbytes < _HEAD.size or blob[0] != _VERSION:
                raise CorruptCell("weighted moments have an unknown kind")
            head = _HEAD.unpack_from(blob)
            if not np.isfinite(head[3:10]).all():
                raise CorruptCell("a sum is not a number")
            first, cut = _HEAD.size + _DIVISOR.size, _HEAD.size + head[-1]
            if head[-1] < _DIVISOR.size or blob.nbytes < cut:
                raise CorruptCell("weighted moments are cut off")
            (divisor,) = _DIVISOR.unpack_from(blob, _HEAD.size)
            if not 1 <= divisor < 1 << 63:
                raise CorruptCell("weighted moments have an impossible divisor")
            heads.append(head)
            divisors.append(divisor)
            packed.append(blob[first:cut])
            frames.append(blob[cut:])
        return cls(
            np.array([head[2] for head in heads], np.int64),
            np.array([head[3:10] for head in heads], np.float64).reshape(len(heads), 7).T,
            np.array([head[1] for head in heads], np.int64),
            np.array(divisors, np.int64),
            packed,
            frames,
        )

    @property
    def sizes(self) -> Int64:
        """Bytes in each frame."""
        return self.rows * 8 * (_WIDTH + 1)

    def columns(self) -> list[Int64]:
        """Function, visits, observed self and total of all rows. Raises `CorruptCell`."""
        try:
            differences, visits, own, rest = unpack(self.packed, self.rows, 4)
            function = from_steps(differences, self.rows)
        except CorruptChunk as error:
            raise CorruptCell(f"cannot decode weighted moments: {error}") from error
        if len(differences) and int(differences.min()) < 1:
            raise CorruptCell("functions are not in ascending order")
        factor = np.repeat(self.divisors, self.rows)
        largest = (own.astype(np.float64) + rest) * factor
        if len(own) and (int(own.min()) < 0 or int(rest.min()) < 0 or float(largest.max()) >= _LAST):
            raise CorruptCell("a sum is not a valid amount")
        return [function, visits, own * factor, (own + rest) * factor]


_LAST = float(1 << 63)


def _finite(numbers: Float) -> Float:
    if not np.isfinite(numbers).all():
        raise CorruptCell("a sum is not a number")
    return numbers


def shuffled(table: npt.NDArray[np.generic]) -> bytes:
    """Byte-shuffle numbers: all first bytes, then all second bytes and so on, as similar bytes compress well."""
    flat = np.ascontiguousarray(table).reshape(-1)
    return np.ascontiguousarray(flat.view(np.uint8).reshape(len(flat), flat.itemsize).T).tobytes()


def unshuffled(
    data: bytes | memoryview, kind: str, columns: int, rows: int, chosen: Int64 | None = None
) -> npt.NDArray[Any]:
    """The inverse of `shuffled`, of shape (columns, rows), or only the chosen rows."""
    size = np.dtype(kind).itemsize
    planes = np.frombuffer(data, np.uint8).reshape(size, columns * rows)
    if chosen is not None:
        planes = planes[:, (np.arange(columns)[:, None] * rows + chosen).ravel()]
        rows = len(chosen)
    numbers: npt.NDArray[Any] = np.ascontiguousarray(planes.T).view(kind).reshape(columns, rows)
    return numbers


def _beside(tables: list[Float]) -> Float:
    return np.concatenate(tables, axis=1) if tables else np.zeros((len(SQUARES), 0))


def _body(decompressor: zstandard.ZstdDecompressor, frame: memoryview, size: int) -> bytes:
    try:
        if zstandard.frame_content_size(frame) != size:
            raise CorruptCell("weighted moments have another length than stated")
        return decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise CorruptCell(f"cannot decompress weighted moments: {error}") from error


def _beginning(decompressor: zstandard.ZstdDecompressor, frame: memoryview, size: int, whole: int) -> bytes:
    """The first bytes of a frame; the rest is not decompressed."""
    try:
        if zstandard.frame_content_size(frame) != whole:
            raise CorruptCell("weighted moments have another length than stated")
        with decompressor.stream_reader(frame) as reader:
            found: bytes = reader.read(size)
    except zstandard.ZstdError as error:
        raise CorruptCell(f"cannot decompress weighted moments: {error}") from error
    if len(found) != size:
        raise CorruptCell("weighted moments are cut off")
    return found


def encode_doubles(values: Float, count: Int64) -> list[bytes]:
    """Blobs of doubles (`rollup_long.weighted`), `count` of them for each cell."""
    compressor = zstandard.ZstdCompressor(level=1)
    bounds = np.concatenate(([0], np.cumsum(count))).tolist()
    little = values.astype("<f8")
    return [compressor.compress(shuffled(little[low:high])) for low, high in itertools.pairwise(bounds)]


def decode_doubles(blobs: Blobs, count: Int64) -> Float:
    """The doubles of many cells, in order. Raises `CorruptCell`."""
    decompressor = zstandard.ZstdDecompressor()
    parts = [
        unshuffled(_body(decompressor, memoryview(blob), 8 * n), "<f8", 1, n)[0]
        for blob, n in zip(blobs, count.tolist() if blobs else [], strict=True)
    ]
    values = np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
    if not np.isfinite(values).all():
        raise CorruptCell("a weighted value is not a number")
    return values
