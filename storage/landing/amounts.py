"""Pairs of small amounts, what something has by itself and what its callees add, in about five bits a pair.

Strategy: a pair is one symbol of a byte, which zstd's Huffman codes take for what it is: most pairs are (0, 1),
(0, 2), (1, 0), and self and the rest say much of each other. A column each of the two, a bit at least for every
number, took a quarter more (measured on cells and source lines of a made fleet). A pair of larger amounts has the
symbol of what is too large, and the rest behind.

    blob    = bytes of the symbols u32 · symbols, packed · what does not fit, packed; these are left out if there are none
    symbol  = 0…247: the pairs with self 0 and rest 0…127, 1 and 0…47, 2 and 0…23, 3 and 0…15, 4…7 and 0…7
              248…254: self 0…6 and a larger rest · 255: all others
    what does not fit = what each rest is more than the largest above, or the rest of symbol 255; then self of each 255

Packed as in storage/landing/columns.py.
"""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np

from storage.landing.columns import Ints, pack_bytes, pack_many, unpack, unpack_bytes
from storage.landing.errors import CorruptChunk

_RESTS: Final = np.array([128, 48, 24, 16, 8, 8, 8, 8])
"""By self, how many rests have a symbol."""
_FIRST: Final = np.cumsum(_RESTS) - _RESTS
_MORE: Final = 248
"""Symbol of self 0 and a rest that has none; the next ones of self 1…6."""
_NEITHER: Final = 255
_OWN: Final = np.concatenate((np.repeat(np.arange(8), _RESTS), np.arange(7), [0]))
_REST: Final = np.concatenate([np.arange(n) for n in _RESTS] + [_RESTS[:7], [0]])
_SQUARE: Final = int(_RESTS.max())
_SYMBOL: Final = np.full(_SQUARE * _SQUARE, _NEITHER, np.uint8)
"""Of self · `_SQUARE` + rest, where both are less than that."""
for _symbol, (_self, _least) in reversed(list(enumerate(zip(_OWN.tolist(), _REST.tolist(), strict=True)))):
    _last = _SQUARE if _symbol >= _MORE else _least + 1
    if _symbol < _NEITHER:
        _SYMBOL[_self * _SQUARE + _least : _self * _SQUARE + _last] = _symbol
_TO_OWN, _TO_REST = (bytes(table.tolist()) for table in (_OWN, _REST))
_LENGTH: Final = struct.Struct("<I")


def pack_amounts(own: Ints, rest: Ints, counts: Ints) -> list[bytes]:
    """The blobs of pairs that stand one blob's after the other's; the inverse of `unpack_amounts`.

    Raises ValueError for a negative amount.
    """
    if len(own) and min(int(own.min()), int(rest.min())) < 0:
        raise ValueError("amounts are non-negative integers")
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
    """Self and rest of many blobs' pairs, concatenated in order; `counts` says how many each has. Raises CorruptChunk."""
    try:
        cuts = [_LENGTH.size + _LENGTH.unpack_from(blob)[0] for blob in blobs]
    except struct.error as error:
        raise CorruptChunk("amounts without a head") from error
    views = [memoryview(blob) for blob in blobs]
    symbol = unpack_bytes([view[_LENGTH.size : cut] for view, cut in zip(views, cuts, strict=True)], counts)
    raw = symbol.tobytes()  # translating bytes takes half the time of taking from a table
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
        raise CorruptChunk("amounts with more behind than there is")
    (extras,) = unpack([views[i][cuts[i] :] for i in with_extras.tolist()], sizes[with_extras], 1)
    if len(neither):
        of_self = np.repeat(np.tile([False, True], len(sizes)), np.stack((rests, selves), axis=1).ravel())
        own[neither], extras = extras[of_self], extras[~of_self]
    rest[beyond] += extras
    if len(beyond) and int(rest[beyond].min()) < 0:
        raise CorruptChunk("an amount beyond 63 bits")
    return own, rest
