"""Functions of a cell of one visit, as its blob has them (`moments_codec`, kind 1).

    3 (1 byte) · function steps (storage/landing/jumps.py) · self and total − self (storage/landing/amounts.py)
    1 or 2: packed columns of the three (storage/landing/columns.py), as all were once

The first form takes a seventh less.
"""

from collections.abc import Sequence

import numpy as np

from storage.landing.amounts import pack_amounts, unpack_amounts
from storage.landing.columns import unpack, unpack_two
from storage.landing.jumps import pack_jumps, unpack_jumps
from storage.rolling.sorting import Int64

_APART = 3
_TAG_APART = bytes((_APART,))
_WIDTH = 3


def pack_functions(steps: Int64, own: Int64, rest: Int64, rows: Int64) -> list[bytes]:
    """The functions of each cell; `rows` says how many each has. Raises ValueError for a negative number."""
    parts = pack_jumps(steps, rows), pack_amounts(own, rest, rows)
    return [_TAG_APART + step + amount for step, amount in zip(*parts, strict=True)]


def unpack_functions(blobs: Sequence[memoryview], rows: Int64) -> Sequence[Int64]:
    """Steps, self and the rest of cells in either form, in order. Raises CorruptChunk."""
    apart = np.array([len(blob) > 0 and blob[0] == _APART for blob in blobs], np.bool_)
    return unpack_two(
        apart,
        rows,
        lambda of: _unpack_apart([blobs[i] for i in of.tolist()], rows[of]),
        lambda of: unpack([blobs[i] for i in of.tolist()], rows[of], _WIDTH),
    )


def _unpack_apart(blobs: Sequence[memoryview], rows: Int64) -> list[Int64]:
    steps, behind = unpack_jumps([blob[1:] for blob in blobs], rows)
    return [steps, *unpack_amounts(behind, rows)]
