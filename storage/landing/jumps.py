"""A column of numbers that are often below 128 and seldom above some thousands: differences of ids, numbers of lines.

Strategy: a number is a symbol of one byte, which zstd's Huffman codes take, and if it is larger a second byte, which is as
good as random and stands behind as it is. As storage/landing/columns.py has them, a number that one byte does not hold
takes three; source lines took a fifth more (measured on those of a made fleet).

    blob   = bytes of the symbols u32 · symbols, packed · second bytes · u32 of each symbol 255
    symbol = 0…127: the number · 128…254: 128 + 256 · (symbol − 128) + the second byte · 255: what stands behind

Packed as bytes are in storage/landing/columns.py.
"""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np

from storage.landing.columns import Ints, pack_bytes, unpack_bytes
from storage.landing.errors import CorruptChunk

_SMALL: Final = 128
_WIDE: Final = 255
_BEYOND: Final = _SMALL + 256 * (_WIDE - _SMALL)
_LENGTH: Final = struct.Struct("<I")
_U32: Final = np.dtype("<u4")


def pack_jumps(column: Ints, counts: Ints) -> list[bytes]:
    """The blobs of a column that holds one blob's rows after the other's; the inverse of `unpack_jumps`.

    Raises ValueError for a number that is not in 0…2³²−1.
    """
    if len(column) and not 0 <= int(column.min()) <= int(column.max()) < 1 << 32:
        raise ValueError("columns hold non-negative integers of 32 bits")
    larger = np.flatnonzero(column >= _SMALL)
    above = column[larger] - _SMALL
    marks = np.minimum(_SMALL + (above >> 8), _WIDE)
    symbols = column.astype(np.uint8)
    symbols[larger] = marks
    bounds = np.concatenate(([0], np.cumsum(counts)))
    wide = np.flatnonzero(marks == _WIDE)
    seconds, wides = above.astype(np.uint8), b""
    cuts, wide_cuts = np.searchsorted(larger, bounds), np.zeros(len(bounds), np.int64)
    if len(wide):
        seconds, wides = np.delete(seconds, wide), column[larger[wide]].astype(_U32).tobytes()
        wide_cuts = np.searchsorted(larger[wide], bounds)
        cuts -= wide_cuts
    behind, of, of_wide = seconds.tobytes(), cuts.tolist(), (wide_cuts * _U32.itemsize).tolist()
    return [
        _LENGTH.pack(len(blob)) + blob + behind[of[i] : of[i + 1]] + wides[of_wide[i] : of_wide[i + 1]]
        for i, blob in enumerate(pack_bytes(symbols, counts))
    ]


def unpack_jumps(blobs: Sequence[memoryview], counts: Ints) -> tuple[Ints, list[memoryview]]:
    """The column of many blobs, concatenated in order, and what follows in each.

    `counts` says how many rows each has. Raises CorruptChunk.
    """
    try:
        cuts = [_LENGTH.size + _LENGTH.unpack_from(blob)[0] for blob in blobs]
    except struct.error as error:
        raise CorruptChunk("numbers without a head") from error
    symbols = unpack_bytes([blob[_LENGTH.size : cut] for blob, cut in zip(blobs, cuts, strict=True)], counts)
    column = symbols.astype(np.int64)
    two = np.flatnonzero(symbols >= _SMALL)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    seconds, wides = np.diff(np.searchsorted(two, bounds)), np.zeros(len(counts), np.int64)
    is_wide = symbols[two] == _WIDE
    wide = two[is_wide]
    if len(wide):
        two = two[~is_wide]
        wides = np.diff(np.searchsorted(wide, bounds))
        seconds -= wides
    middles = (np.array(cuts, np.int64) + seconds).tolist()
    ends = [middle + _U32.itemsize * n for middle, n in zip(middles, wides.tolist(), strict=True)]
    if any(end > len(blob) for end, blob in zip(ends, blobs, strict=True)):
        raise CorruptChunk("a blob lacks some of its larger numbers")
    behind = b"".join([blob[cut:middle] for blob, cut, middle in zip(blobs, cuts, middles, strict=True)])
    column[two] = ((column[two] - _SMALL) << 8) + np.frombuffer(behind, np.uint8) + _SMALL
    if len(wide):
        behind = b"".join([blob[middle:end] for blob, middle, end in zip(blobs, middles, ends, strict=True)])
        column[wide] = np.frombuffer(behind, _U32)
        if int(column[wide].min()) < _BEYOND:
            raise CorruptChunk("a number of two bytes was written in four")
    return column, [blob[end:] for blob, end in zip(blobs, ends, strict=True)]
