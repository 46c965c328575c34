"""Columns of mostly small numbers: one symbol byte each for zstd's Huffman coding, then the larger numbers.

**Amounts** are pairs of self units and the rest that callees add, in about five bits a pair. Most are (0, 1), (0, 2),
(1, 0), and self and rest are strongly correlated. One column for each, with at least one bit per number, took a quarter
more (measured on cells and source lines of a simulated fleet).

    blob    = bytes of the symbols u32 · symbols, packed · excess numbers, packed; these are left out if there are none
    symbol  = 0…247: the pairs with self 0 and rest 0…127, 1 and 0…47, 2 and 0…23, 3 and 0…15, 4…7 and 0…7
              248…254: self 0…6 and a larger rest · 255: all others
    excess  = each rest minus the largest above, or the rest of symbol 255; then self of each 255

**Jumps** are numbers that are often below 128 and seldom above some thousands: differences of ids, numbers of lines.
The second byte of a larger one is practically random and is stored separately as it is. With `columns`, a number above
one byte takes three; source lines took a fifth more (measured on those of a simulated fleet).

    blob   = bytes of the symbols u32 · symbols, packed · second bytes · u32 of each symbol 255
    symbol = 0…127: the number · 128…254: 128 + 256 · (symbol − 128) + the second byte · 255: the u32

Packed as in storage/blobs/columns.py.
"""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.blobs.columns import Ints, pack_bytes, pack_many, unpack, unpack_bytes
from storage.errors import CorruptChunk

_LENGTH: Final = struct.Struct("<I")
_RESTS: Final = np.array([128, 48, 24, 16, 8, 8, 8, 8])
"""By self, how many rests have a symbol."""
_FIRST: Final = np.cumsum(_RESTS) - _RESTS
_MORE: Final = 248
"""Symbol of self 0 and a rest without a symbol; the next ones are of self 1…6."""
_NEITHER: Final = 255
_OWN: Final = np.concatenate((np.repeat(np.arange(8), _RESTS), np.arange(7), [0]))
_REST: Final = np.concatenate([np.arange(n) for n in _RESTS] + [_RESTS[:7], [0]])
_SQUARE: Final = int(_RESTS.max())
_SYMBOL: Final = np.full(_SQUARE * _SQUARE, _NEITHER, np.uint8)
"""The symbol of self · `_SQUARE` + rest, if both are less than that."""
for _symbol, (_self, _least) in reversed(list(enumerate(zip(_OWN.tolist(), _REST.tolist(), strict=True)))):
    _last = _SQUARE if _symbol >= _MORE else _least + 1
    if _symbol < _NEITHER:
        _SYMBOL[_self * _SQUARE + _least : _self * _SQUARE + _last] = _symbol
_TO_OWN, _TO_REST = (bytes(table.tolist()) for table in (_OWN, _REST))
_SMALL: Final = 128
_WIDE: Final = 255
_BEYOND: Final = _SMALL + 256 * (_WIDE - _SMALL)
_U32: Final = np.dtype("<u4")


def pack_amounts(own: Ints, rest: Ints, counts: Ints) -> list[bytes]:
    """The blobs of pairs, one blob's after the other's; the inverse of `unpack_amounts`.

    Raises ValueError for a negative amount.
    """
    if len(own) and min(int(own.min()), int(rest.min())) < 0:
        raise ValueError("amounts must be non-negative integers")
    large = np.flatnonzero((own | rest) >= _SQUARE)
    both = own * _SQUARE + rest
    both[large] = 0
    symbol = _SYMBOL.take(both)
    symbol[large] = np.where(own[large] < _NEITHER - _MORE, _MORE + own[large], _NEITHER)
    beyond = np.flatnonzero(symbol >= _MORE)
    marks = symbol[beyond]
    lacking = rest[beyond] - _REST[marks]
    neither = beyond[marks == _NEITHER]
    bounds = np.concatenate(([0], np.cumsum(counts)))
    behind, selves = np.searchsorted(beyond, bounds), np.searchsorted(neither, bounds)
    # Each blob's rests, then its selves.
    blob = np.concatenate(
        (
            np.repeat(np.arange(len(counts)), np.diff(behind)),
            np.repeat(np.arange(len(counts)), np.diff(selves)),
        )
    )
    extras = np.concatenate((lacking, own[neither]))[np.argsort(blob, kind="stable")]
    sizes = np.diff(behind) + np.diff(selves)
    packed = pack_many((extras,), sizes)
    return [
        _LENGTH.pack(len(symbols)) + symbols + (others if n else b"")
        for symbols, others, n in zip(pack_bytes(symbol, counts), packed, sizes.tolist(), strict=True)
    ]


def unpack_amounts(blobs: Sequence[bytes | memoryview], counts: Ints) -> tuple[Ints, Ints]:
    """Self and rest of many blobs' pairs, concatenated in order; `counts` are the pairs of each.

    Raises `CorruptChunk`.
    """
    views = [memoryview(blob) for blob in blobs]
    symbol, cuts = _symbols(views, counts)
    raw = symbol.tobytes()  # translating bytes takes half the time of indexing a table
    own, rest = (
        np.frombuffer(raw.translate(table), np.uint8).astype(np.int64) for table in (_TO_OWN, _TO_REST)
    )
    beyond = np.flatnonzero(symbol >= _MORE)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    neither = beyond[symbol[beyond] == _NEITHER]
    rests, selves = np.diff(np.searchsorted(beyond, bounds)), np.diff(np.searchsorted(neither, bounds))
    sizes = rests + selves
    with_extras = np.flatnonzero(sizes)
    if any(len(view) != cut for view, cut, n in zip(views, cuts, sizes.tolist(), strict=True) if not n):
        raise CorruptChunk("amounts refer to more values than there are")
    (extras,) = unpack([views[i][cuts[i] :] for i in with_extras.tolist()], sizes[with_extras], 1)
    if len(neither):
        of_self = np.repeat(np.tile([False, True], len(sizes)), np.stack((rests, selves), axis=1).ravel())
        own[neither], extras = extras[of_self], extras[~of_self]
    rest[beyond] += extras
    if len(beyond) and int(rest[beyond].min()) < 0:
        raise CorruptChunk("an amount exceeds 63 bits")
    return own, rest


def pack_jumps(column: Ints, counts: Ints) -> list[bytes]:
    """The blobs of a column that holds one blob's rows after the other's; the inverse of `unpack_jumps`.

    Raises ValueError for a number that is not in 0…2³²−1.
    """
    if len(column) and not 0 <= int(column.min()) <= int(column.max()) < 1 << 32:
        raise ValueError("columns must hold non-negative integers of 32 bits")
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
    """The column of many blobs, concatenated in order, and the bytes that follow in each.

    `counts` are the rows of each. Raises `CorruptChunk`.
    """
    symbols, cuts = _symbols(blobs, counts)
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
        raise CorruptChunk("some of the larger numbers of a blob are missing")
    behind = b"".join([blob[cut:middle] for blob, cut, middle in zip(blobs, cuts, middles, strict=True)])
    column[two] = ((column[two] - _SMALL) << 8) + np.frombuffer(behind, np.uint8) + _SMALL
    if len(wide):
        behind = b"".join([blob[middle:end] for blob, middle, end in zip(blobs, middles, ends, strict=True)])
        column[wide] = np.frombuffer(behind, _U32)
        if int(column[wide].min()) < _BEYOND:
            raise CorruptChunk("a number of two bytes is stored in four")
    return column, [blob[end:] for blob, end in zip(blobs, ends, strict=True)]


def _symbols(blobs: Sequence[memoryview], counts: Ints) -> tuple[npt.NDArray[np.uint8], list[int]]:
    """The symbols at the start of blobs, and where they end in each."""
    try:
        cuts = [_LENGTH.size + _LENGTH.unpack_from(blob)[0] for blob in blobs]
    except struct.error as error:
        raise CorruptChunk("the header of the numbers is missing") from error
    packed = [blob[_LENGTH.size : cut] for blob, cut in zip(blobs, cuts, strict=True)]
    return unpack_bytes(packed, counts), cuts
