"""What moments say of a cell as a whole, without its functions: the first bytes of their blobs.

Of a table of applications that is all there is to know, and a hundredth of the bytes.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from storage.rolling import moments_codec, weighted
from storage.rolling.errors import CorruptCell
from storage.rolling.moments import Sums, empty
from storage.rolling.weighted import Parts

BYTES = 80
"""Of a blob, in which the head of either kind lies."""
Blobs = Sequence[bytes | memoryview]


def decode_sums(blobs: Blobs) -> Sums:
    """The sums of many open cells, in units and without functions. Raises CorruptCell."""
    if not blobs:
        return empty(0)
    try:
        cells = [_sums(memoryview(blob)) for blob in blobs]
    except struct.error as error:
        raise CorruptCell(f"moments without a head: {error}") from error
    divisor, visits, machines, *sums = zip(*cells, strict=True)
    x, xx, xxxx, xe = (np.array(column, np.float64) for column in sums)
    factor = np.array(divisor, np.float64)
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    return Sums(
        np.ones(len(cells), np.int64),
        np.array(visits, np.int64),
        np.array(machines, np.int64),
        x * factor,
        xx * factor**2,
        xxxx * factor**4,
        xe * factor**2,
        np.zeros(len(cells), np.int64),
        *(no_rows,) * 5,
        *(nothing,) * 6,
    )


def decode_parts(blobs: Blobs) -> Parts:
    """The parts of many closed cells, without functions. Raises CorruptCell."""
    try:
        heads = [weighted.HEAD.unpack_from(blob) for blob in blobs]
    except struct.error as error:
        raise CorruptCell(f"weighted moments without a head: {error}") from error
    scalars = np.array([head[3:10] for head in heads], np.float64).reshape(len(heads), 7).T
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    bits, none = np.array([head[2] for head in heads], np.int64), np.zeros(len(heads), np.int64)
    counted = np.ones(len(heads), np.bool_)  # of no function at all everything is known
    arguments: list[Any] = [bits, *scalars, none, *(no_rows,) * 3, *(nothing,) * 10, *(no_rows,) * 2, counted]
    return Parts(*arguments)


def _sums(blob: memoryview) -> tuple[int, int, int, float, float, float, float]:
    """(divisor, visits, machines, Σx, Σx², Σx⁴, Σx·X) of a cell."""
    _, kind, _, divisor = moments_codec.HEAD.unpack_from(blob)
    at = moments_codec.HEAD.size
    if kind == moments_codec.ONE:
        machines, x, xe = moments_codec.ONE_CELL.unpack_from(blob, at)
        return divisor, 1, machines, x, x**2, x**4, xe
    visits, machines, x, xx, xxxx, xe = moments_codec.MANY_CELL.unpack_from(blob, at)
    return divisor, visits, machines, x, xx, xxxx, xe
