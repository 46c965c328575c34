"""Pairs of a function and a visit, as the blob of a cell that keeps its visits has them (`visit_list_codec`).

    3 (1 byte) · functions u32 · bytes of the steps u32, and of the bits · function steps less 1, packed
         · for each function one bit a visit, set if it has it, in as many whole bytes as that takes; packed
         · self and total − self of the pairs (storage/landing/amounts.py)
    1 or 2: packed columns of the pairs: function step (0: the same one), visit, self, total − self

Bits take less than steps of 0 and numbers of visits as long as a function has one visit in ten or so; the first form
takes a fifth less than the second all in all. Cells whose functions have few of many visits are written in the second, as
all were once.
"""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from storage.landing.amounts import pack_amounts, unpack_amounts
from storage.landing.columns import pack_bytes, pack_many, unpack, unpack_bytes, unpack_two
from storage.rolling.errors import CorruptCell
from storage.rolling.sorting import Bool, Int64

_BITS = 3
_HEAD = struct.Struct("<BIII")
_BITS_A_PAIR = 16
"""At most, of those that are written and read: what they are unpacked to is no more than the pairs are."""
_BEYOND = 1 << 31
"""Function ids are below."""


class Pairs(NamedTuple):
    """Columns over the pairs of some cells, which ascend by cell, function, visit."""

    function: Int64
    visit: Int64
    """Counted over all cells."""
    own: Int64
    more: Int64
    """What total is more than self."""


def pack_pairs(pairs: Pairs, rows: Int64, visits: Int64) -> list[bytes]:
    """The pairs of each cell, in the form that suits it; `rows` says how many pairs each has, and `visits` of how many."""
    bounds = np.concatenate(([0], np.cumsum(rows)))
    number = pairs.visit - np.repeat(np.cumsum(visits) - visits, rows)
    fresh = np.ones(len(number), np.bool_)
    np.not_equal(pairs.function[1:], pairs.function[:-1], out=fresh[1:])
    fresh[bounds[:-1][rows > 0]] = True
    starts = np.flatnonzero(fresh)
    functions = np.diff(np.searchsorted(starts, bounds))
    suits = _suits(functions, rows, visits)
    blobs = [b""] * len(rows)
    if (few := np.flatnonzero(suits)).size:
        of = slice(None) if suits.all() else np.flatnonzero(np.repeat(suits, rows))
        packed = _pack_bits(
            pairs.function[of], number[of], fresh[of], pairs.own[of], pairs.more[of],
            rows[few], visits[few], functions[few],
        )  # fmt: skip
        for place, blob in zip(few.tolist(), packed, strict=True):
            blobs[place] = blob
    if (many := np.flatnonzero(~suits)).size:
        of = np.flatnonzero(np.repeat(~suits, rows))
        steps = _steps(pairs.function[of], rows[many])
        packed = pack_many((steps, number[of], pairs.own[of], pairs.more[of]), rows[many])
        for place, blob in zip(many.tolist(), packed, strict=True):
            blobs[place] = blob
    return blobs


def unpack_pairs(blobs: Sequence[memoryview], rows: Int64, visits: Int64) -> Pairs:
    """The pairs of cells in either form, in order. Raises CorruptChunk, CorruptCell or struct.error."""
    with_bits = np.array([len(blob) > 0 and blob[0] == _BITS for blob in blobs], np.bool_)
    first_visit = np.cumsum(visits) - visits

    def read(unpack_form: Callable[..., Pairs]) -> Callable[[Int64], Pairs]:
        return lambda of: unpack_form([blobs[i] for i in of.tolist()], rows[of], visits[of], first_visit[of])

    return Pairs(*unpack_two(with_bits, rows, read(_unpack_bits), read(_unpack_columns)))


def _suits(functions: Int64, rows: Int64, visits: Int64) -> Bool:
    """Cells whose bits are few enough for what they say."""
    suits: Bool = 8 * functions * _bytes_each(visits) <= _BITS_A_PAIR * rows
    return suits


def _bytes_each(visits: Int64) -> Int64:
    """Of a function's bits."""
    return (visits + 7) // 8


def _steps(function: Int64, rows: Int64) -> Int64:
    """Function ids as differences within each cell."""
    steps = np.diff(function, prepend=0)
    first = (np.cumsum(rows) - rows)[rows > 0]
    steps[first] = function[first]
    return steps


def _pack_bits(  # noqa: PLR0917 - the columns of pairs, then those of cells
    function: Int64,
    number: Int64,
    fresh: Bool,
    own: Int64,
    more: Int64,
    rows: Int64,
    visits: Int64,
    functions: Int64,
) -> list[bytes]:
    starts = np.flatnonzero(fresh)
    each = _bytes_each(visits)
    size = np.repeat(each, functions)
    begins = np.cumsum(size) - size
    # Bits of one byte differ, so that their sum is all of them.
    so_far = np.zeros(len(number) + 1, np.int64)
    np.cumsum(np.left_shift(1, number & 7), out=so_far[1:])
    if len(begins) == int(size.sum()):
        bits = np.diff(so_far[np.append(starts, len(number))])
    else:
        place = np.repeat(begins, np.diff(starts, append=len(number))) + (number >> 3)
        runs = np.flatnonzero(np.diff(place, prepend=-1))
        bits = np.zeros(int(size.sum()), np.int64)
        bits[place[runs]] = np.diff(so_far[np.append(runs, len(number))])
    steps = pack_many((_steps(function[starts], functions) - 1,), functions)
    masks = pack_bytes(bits.astype(np.uint8), functions * each)
    amounts = pack_amounts(own, more, rows)
    return [
        _HEAD.pack(_BITS, n, len(step), len(mask)) + step + mask + amount
        for n, step, mask, amount in zip(functions.tolist(), steps, masks, amounts, strict=True)
    ]


def _unpack_bits(blobs: Sequence[memoryview], rows: Int64, visits: Int64, first_visit: Int64) -> Pairs:
    heads = [_HEAD.unpack_from(blob) for blob in blobs]
    functions = np.array([head[1] for head in heads], np.int64)
    # Of no visits any number of functions would suit.
    if (functions > rows).any() or not _suits(functions, rows, visits).all():
        raise CorruptCell("more functions than pairs")
    cuts = [
        (blob, _HEAD.size + step, _HEAD.size + step + mask)
        for blob, (*_, step, mask) in zip(blobs, heads, strict=True)
    ]
    (steps,) = unpack([blob[_HEAD.size : end] for blob, end, _ in cuts], functions, 1)
    bytes_each = _bytes_each(visits)
    masks = unpack_bytes([blob[begin:end] for blob, begin, end in cuts], functions * bytes_each)
    own, more = unpack_amounts([blob[end:] for blob, _, end in cuts], rows)
    size = np.repeat(bytes_each, functions)
    begins = np.cumsum(size) - size
    found = np.bitwise_count(masks).astype(np.int64)
    if len(masks) > len(begins):
        found = np.add.reduceat(found, begins)
    # Bits behind the last visit are of none.
    spare = 8 * bytes_each - visits
    last = masks[begins + size - 1] if len(begins) else masks
    if (last >> np.repeat(8 - spare, functions).astype(np.uint8) != 0)[np.repeat(spare > 0, functions)].any():
        raise CorruptCell("a pair of no visit")
    bounds = np.concatenate(([0], np.cumsum(functions)))
    so_far = np.concatenate(([0], np.cumsum(found)))
    if (len(found) and int(found.min()) < 1) or not np.array_equal(np.diff(so_far[bounds]), rows):
        raise CorruptCell("a function of no visit, or other pairs than there are amounts")
    if len(steps) and not 0 <= int(steps.min()) <= int(steps.max()) < _BEYOND:
        raise CorruptCell("functions that do not ascend")
    function = _from_steps(steps + 1, functions)
    at = np.flatnonzero(np.unpackbits(masks, bitorder="little").view(np.bool_))
    to_visit = np.repeat(first_visit, functions) - 8 * begins
    if len(masks) > len(begins):
        function, to_visit = np.repeat(function, size), np.repeat(to_visit, size)
    of = at >> 3  # by byte: taking takes a third of the time of repeating
    at += to_visit[of]
    return Pairs(function[of], at, own, more)


def _unpack_columns(blobs: Sequence[memoryview], rows: Int64, visits: Int64, first_visit: Int64) -> Pairs:
    steps, number, own, more = unpack(blobs, rows, 4)
    if (number < 0).any() or (number >= np.repeat(visits, rows)).any():
        raise CorruptCell("a pair of no visit")
    filled = rows[rows > 0]
    if len(filled):
        first = np.cumsum(filled) - filled
        if not 0 <= int(steps.min()) <= int(steps.max()) < _BEYOND:
            raise CorruptCell("functions that do not ascend")
        same = steps == 0
        same[0] = False
        again = np.flatnonzero(same)
        if (steps[first] < 1).any() or (number[again] <= number[again - 1]).any():
            raise CorruptCell("a cell holds a function of a visit twice")
    return Pairs(_from_steps(steps, rows), number + np.repeat(first_visit, rows), own, more)


def _from_steps(steps: Int64, rows: Int64) -> Int64:
    """The inverse of `_steps`."""
    filled = rows[rows > 0]
    if not len(filled):
        return steps
    function = np.cumsum(steps)
    first = np.cumsum(filled) - filled
    function -= np.repeat(function[first] - steps[first], filled)
    if int(function.max()) >= _BEYOND:
        raise CorruptCell("a function id beyond 31 bits")
    return function
