"""The moments of closed days with their weights in: parts of `analysis.moments.Moments`, and their blob.

Of other days other visits are the clusters, so parts of different buckets add. They are stored
in double precision: the variance of a share is a small difference of large sums, and with single
precision a function that one visit alone had once looked known to four digits.

    blob = version (1) · rows u32 · cell: machine bits i64, the scalars f64 · length u32 · packed columns
         · one zstd frame of the doubles, byte by byte of significance
"""

import itertools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from storage.landing.columns import pack_many, unpack
from storage.landing.errors import CorruptChunk
from storage.rolling.errors import CorruptCell
from storage.rolling.sorting import Bool, Float64, Int64, among, by_pair, counts

_VERSION = 1
_HEAD = struct.Struct("<BIq7dI")
Blobs = Sequence[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class Parts:
    """Columns over weighted cells, and over their functions, cell by cell and ascending within each.

    Names are those of `analysis.moments.Moments`; `e` is the whole event where `x` is the cell.
    """

    machines: Int64
    """Bits, as in `moments.Sums`."""
    landed: Float64
    df: Float64
    x: Float64
    vxx: Float64
    vxe: Float64
    x_second: Float64
    x_fourth: Float64
    count: Int64
    """Rows, that is functions, of each cell."""
    function: Int64
    visits: Int64
    row_machines: Int64
    own: Float64
    total: Float64
    own_vyy: Float64
    own_vxy: Float64
    own_second: Float64
    own_fourth: Float64
    total_vyy: Float64
    total_vxy: Float64
    total_second: Float64
    total_fourth: Float64

    def __len__(self) -> int:
        return len(self.machines)

    @property
    def cell(self) -> Int64:
        """The cell of each row, counted from 0."""
        return np.repeat(np.arange(len(self.count)), self.count)


_NAMES = [field.name for field in fields(Parts)]
_SCALARS = _NAMES[1:8]
_SQUARES = _NAMES[14:]


def add_up(parts: Parts, into: Int64, cells: int) -> Parts:
    """Parts merged into fewer cells: cell i goes into `into[i]`, 0…cells−1."""
    scalars = [np.bincount(into, getattr(parts, name), cells) for name in _SCALARS]
    machines = np.zeros(cells, np.int64)
    np.bitwise_or.at(machines, into, parts.machines)
    cell = into[parts.cell]
    order, first = by_pair(cell, parts.function)
    lead = order[first]
    rows: list[npt.NDArray[Any]] = [getattr(parts, name) for name in _NAMES[9:]]
    if len(order):
        rows = [rows[0][lead], np.add.reduceat(rows[1][order], first)] + [
            (np.bitwise_or if column is parts.row_machines else np.add).reduceat(column[order], first)
            for column in rows[2:]
        ]
    arguments: list[Any] = [machines, *scalars, counts(cell[lead], cells), *rows]
    return Parts(*arguments)


def encode(parts: Parts) -> list[bytes]:
    """One blob for each cell."""
    bounds = np.concatenate(([0], np.cumsum(parts.count))).tolist()
    steps = np.diff(parts.function, prepend=0)
    first = np.array(bounds[:-1], np.int64)[parts.count > 0]
    steps[first] = parts.function[first]
    packed = pack_many((steps, parts.visits, parts.row_machines), parts.count)
    doubles = np.stack((parts.own, parts.total)).astype("<f8")
    squares = np.stack([getattr(parts, name) for name in _SQUARES]).astype("<f8")
    scalars = np.stack([getattr(parts, name) for name in _SCALARS], axis=1).tolist()
    compressor = zstandard.ZstdCompressor(level=1)
    blobs = []
    for i, (low, high) in enumerate(itertools.pairwise(bounds)):
        head = _HEAD.pack(_VERSION, high - low, int(parts.machines[i]), *scalars[i], len(packed[i]))
        body = shuffled(doubles[:, low:high]) + shuffled(squares[:, low:high])
        blobs.append(head + packed[i] + compressor.compress(body))
    return blobs


def decode(blobs: Blobs, wanted: Bool | None = None) -> Parts:
    """The parts of many cells, in order; of all functions, or those `wanted` by id. Raises CorruptCell."""
    heads, packed, bodies = [], [], []
    decompressor = zstandard.ZstdDecompressor()
    for data in blobs:
        blob = memoryview(data)
        if blob.nbytes < _HEAD.size or blob[0] != _VERSION:
            raise CorruptCell("weighted moments of a kind that is not known here")
        head = _HEAD.unpack_from(blob)
        rows, cut = head[1], _HEAD.size + head[-1]
        if not np.isfinite(head[3:10]).all():
            raise CorruptCell("a sum that is no number")
        heads.append(head)
        packed.append(blob[_HEAD.size : cut])
        bodies.append(_body(decompressor, blob[cut:], rows * (2 * 8 + len(_SQUARES) * 8)))
    rows = np.array([head[1] for head in heads], np.int64)
    try:
        steps, visits, machines = unpack(packed, rows, 3)
    except CorruptChunk as error:
        raise CorruptCell(f"weighted moments do not decode: {error}") from error
    function, kept = _running(steps, rows), rows
    chosen: list[Int64 | None] = [None] * len(blobs)
    if wanted is not None and blobs:
        keep = among(function, wanted)
        cell = np.repeat(np.arange(len(rows)), rows)[keep]
        function, visits, machines, kept = (
            function[keep],
            visits[keep],
            machines[keep],
            counts(cell, len(rows)),
        )
        chosen = list(np.split(keep - (np.cumsum(rows) - rows)[cell], np.cumsum(kept)[:-1]))
    doubles, found = [], []
    for body, n, of in zip(bodies, rows.tolist(), chosen, strict=True):
        doubles.append(unshuffled(body[: n * 16], "<f8", 2, n, of))
        found.append(unshuffled(body[n * 16 :], "<f8", len(_SQUARES), n, of))
    y = np.concatenate(doubles, axis=1) if doubles else np.zeros((2, 0))
    squares = _beside(found)
    if not (np.isfinite(y).all() and all(np.isfinite(column).all() for column in squares)):
        raise CorruptCell("a sum that is no number")
    scalars = np.array([head[3:10] for head in heads], np.float64).reshape(len(heads), 7).T
    bits = np.array([head[2] for head in heads], np.int64)
    arguments: list[Any] = [bits, *scalars, kept, function, visits, machines, *y, *squares]
    return Parts(*arguments)


def shuffled(table: npt.NDArray[np.generic]) -> bytes:
    """The bytes of numbers with the most alike ones side by side: first all first bytes, and so on."""
    flat = np.ascontiguousarray(table).reshape(-1)
    return np.ascontiguousarray(flat.view(np.uint8).reshape(len(flat), flat.itemsize).T).tobytes()


def unshuffled(
    data: bytes | memoryview, kind: str, columns: int, rows: int, chosen: Int64 | None = None
) -> npt.NDArray[np.float64]:
    """The inverse of `shuffled`, of shape (columns, rows), or of the chosen rows alone."""
    size = np.dtype(kind).itemsize
    planes = np.frombuffer(data, np.uint8).reshape(size, columns * rows)
    if chosen is not None:
        planes = planes[:, (np.arange(columns)[:, None] * rows + chosen).ravel()]
        rows = len(chosen)
    numbers: npt.NDArray[np.float64] = np.ascontiguousarray(planes.T).view(kind).reshape(columns, rows)
    return numbers


def _beside(tables: list[Float64]) -> Float64:
    return np.concatenate(tables, axis=1) if tables else np.zeros((len(_SQUARES), 0))


def _body(decompressor: zstandard.ZstdDecompressor, frame: memoryview, size: int) -> bytes:
    try:
        if zstandard.frame_content_size(frame) != size:
            raise CorruptCell("weighted moments of another length than they say")
        return decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise CorruptCell(f"weighted moments do not decompress: {error}") from error


def _running(steps: Int64, rows: Int64) -> Int64:
    filled = rows[rows > 0]
    if not len(filled):
        return steps
    function = np.cumsum(steps)
    first = np.cumsum(filled) - filled
    function -= np.repeat(function[first] - steps[first], filled)
    if int(steps.min()) < 1 or int(function.max()) > np.iinfo(np.int32).max or int(function.min()) < 1:
        raise CorruptCell("functions that do not ascend")
    return function


def encode_doubles(values: Float64, count: Int64) -> list[bytes]:
    """Blobs of doubles (`roll_weighted.weighted`), `count` of them for each cell."""
    compressor = zstandard.ZstdCompressor(level=1)
    bounds = np.concatenate(([0], np.cumsum(count))).tolist()
    little = values.astype("<f8")
    return [compressor.compress(shuffled(little[low:high])) for low, high in itertools.pairwise(bounds)]


def decode_doubles(blobs: Blobs, count: Int64) -> Float64:
    """The doubles of many cells, in order. Raises CorruptCell."""
    decompressor = zstandard.ZstdDecompressor()
    parts = [
        unshuffled(_body(decompressor, memoryview(blob), 8 * n), "<f8", 1, n)[0]
        for blob, n in zip(blobs, count.tolist() if blobs else [], strict=True)
    ]
    values = np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)
    if not np.isfinite(values).all():
        raise CorruptCell("a weighted value that is no number")
    return values


def concatenated(parts: Sequence[Parts]) -> Parts:
    """The cells of all parts, one part after the other; at least one."""
    arguments: list[Any] = [np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES]
    return Parts(*arguments)
