"""What moments say of a cell as a whole, without its functions: the first bytes of their blobs.

Of a table of applications that is all there is to know, and a hundredth of the bytes.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from storage.rolling import moments_codec, weighted_codec
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
    length = np.fromiter(map(len, blobs), np.int64, len(blobs))
    heads = np.frombuffer(b"".join([bytes(blob[:_SIZE]).ljust(_SIZE, b"\0") for blob in blobs]), _MANY)
    one = heads["kind"] == moments_codec.ONE
    if (length < np.where(one, _ONE.itemsize, _SIZE)).any():
        raise CorruptCell("moments without a head")
    ones = heads.view(np.uint8).reshape(len(heads), _SIZE)[:, : _ONE.itemsize].copy().view(_ONE)[:, 0]
    factor = heads["divisor"].astype(np.float64)
    x = np.where(one, ones["x"], heads["x"])
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    return Sums(
        np.ones(len(heads), np.int64),
        np.where(one, 1, heads["visits"]).astype(np.int64),
        np.where(one, ones["machines"], heads["machines"]).astype(np.int64),
        x * factor,
        np.where(one, x**2, heads["xx"]) * factor**2,
        np.where(one, x**4, heads["xxxx"]) * factor**4,
        np.where(one, ones["xe"], heads["xe"]) * factor**2,
        np.zeros(len(heads), np.int64),
        *(no_rows,) * 5,
        *(nothing,) * 6,
    )


_HEAD = [("version", "u1"), ("kind", "u1"), ("rows", "<u4"), ("divisor", "<u8")]
_ONE = np.dtype([*_HEAD, ("machines", "<i8"), ("x", "<f8"), ("xe", "<f8")])
_MANY = np.dtype(
    [
        *_HEAD,
        ("visits", "<u4"),
        ("machines", "<i8"),
        ("x", "<f8"),
        ("xx", "<f8"),
        ("xxxx", "<f8"),
        ("xe", "<f8"),
    ]
)
"""As `moments_codec` has them before the functions."""
_SIZE = _MANY.itemsize


def decode_parts(blobs: Blobs) -> Parts:
    """The parts of many closed cells, without functions. Raises CorruptCell."""
    try:
        heads = [weighted_codec.HEAD.unpack_from(blob) for blob in blobs]
    except struct.error as error:
        raise CorruptCell(f"weighted moments without a head: {error}") from error
    scalars = np.array([head[3:10] for head in heads], np.float64).reshape(len(heads), 7).T
    no_rows, nothing = np.zeros(0, np.int64), np.zeros(0)
    bits, none = np.array([head[2] for head in heads], np.int64), np.zeros(len(heads), np.int64)
    arguments: list[Any] = [bits, *scalars, none, *(no_rows,) * 3, *(nothing,) * 10, *(no_rows,) * 2]
    return Parts(*arguments)
