"""The blob of a cell that lists its visits (`rollup.moments`, kind 3; for the others see `moments_codec`).

    body = head of a cell of several visits: visits u32, machine bits i64, Σx, Σx², Σx⁴, Σx·X f64
         · length u32 · packed columns of the visits: machine's bit, x, X − x
         · the pairs of a function and a visit

The sums in the head are for readers that need nothing else (`moments_codec.decode_heads`); they follow from the visits.
Pairs have one of two forms:

    3 (1 byte) · functions u32 · bytes of the steps u32, and of the bits · function steps less 1, packed
         · for each function one bit per visit, set if the visit has it, in whole bytes; packed
         · self and total − self of the pairs, as amounts (storage/blobs/small_numbers.py)
    1 or 2: packed columns of the pairs: function step (0: the previous function), visit, self, total − self

Bits take less than steps of 0 and visit numbers while a function is in at least about one visit in ten; overall the
first form takes a fifth less than the second. Cells whose functions are in few of many visits are written in the second
form, as are all older cells.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Int64, weight_at
from storage.blobs.columns import from_steps, pack_bytes, pack_many, steps, unpack, unpack_bytes, unpack_two
from storage.blobs.small_numbers import pack_amounts, unpack_amounts
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup.moments import SLOTS
from storage.rollup.visit_lists import MOST_VISITS, VisitLists

KIND = 3
_CELL = struct.Struct("<IqddddI")
LARGEST = 1 << 51
"""Limit of a visit's amount: its fourth power, summed over all possible visits, is far below any overflow."""
_BITS = 3
_PAIRS = struct.Struct("<BIII")
_BITS_A_PAIR = 16
"""Maximum number of bits per pair that are written and read, so that unpacked bits take no more than the pairs."""
_BEYOND = 1 << 31
"""Upper bound of function ids, exclusive."""
Blobs = Sequence[bytes | memoryview]


def check(lists: VisitLists) -> None:
    """Raise `CorruptCell` for visits that `decode` would reject, so that they are not written to a cell."""
    if (lists.own < 0).any() or (lists.own > lists.total).any():
        raise CorruptCell("a visit has an impossible amount")
    _check_visits(lists)


def _check_visits(lists: VisitLists) -> None:
    fits = (lists.x >= 0) & (lists.event >= lists.x) & (lists.event < LARGEST)
    if not fits.all():
        raise CorruptCell("a visit has an impossible amount")
    if (lists.total > lists.x.take(lists.visit)).any() or (lists.total < 1).any():
        raise CorruptCell("a function has more than its visit")


def _check_number(visits: Int64) -> None:
    """Check the visits of each cell, which bound what a cell is unpacked to."""
    if ((visits < 1) | (visits > MOST_VISITS)).any():
        raise CorruptCell("a cell has no visits, or more than the limit")


def encode(lists: VisitLists) -> list[bytes]:
    """Encode one body per cell; each cell has at least one visit. Raises `CorruptCell` for what `decode` rejects."""
    check(lists)
    if not len(lists):
        return []
    visits, pairs = lists.visits, lists.pairs
    _check_number(visits)
    bit = np.bitwise_count((lists.machine_bit & -lists.machine_bit) - 1).astype(np.int64)
    if (lists.machine_bit <= 0).any() or (bit >= SLOTS).any():
        raise CorruptCell("a visit has no machine")
    of_visits = pack_many((bit, lists.x, lists.event - lists.x), visits)
    columns = Pairs(lists.function, lists.visit, lists.own, lists.total - lists.own)
    of_pairs = pack_pairs(columns, pairs, visits)
    sums = zip(visits.tolist(), *(column.tolist() for column in _scalars(lists)), strict=True)
    return [
        _CELL.pack(*scalars, len(packed)) + packed + rest
        for scalars, packed, rest in zip(sums, of_visits, of_pairs, strict=True)
    ]


def decode(bodies: Blobs, pairs: Int64, divisor: Int64) -> VisitLists:
    """The visits of many cells, in order. Raises `CorruptCell`."""
    try:
        heads = [_CELL.unpack_from(body) for body in bodies]
        visits = np.array([head[0] for head in heads], np.int64)
        _check_number(visits)
        cuts = [_CELL.size + head[-1] for head in heads]
        of_visits = [memoryview(b)[_CELL.size : cut] for b, cut in zip(bodies, cuts, strict=True)]
        bit, x, rest = unpack(of_visits, visits, 3)
        of_pairs = [memoryview(b)[cut:] for b, cut in zip(bodies, cuts, strict=True)]
        function, visit, own, more = unpack_pairs(of_pairs, pairs, visits)
    except (CorruptChunk, struct.error) as error:
        raise CorruptCell(f"cannot decode the visits of a cell: {error}") from error
    amounts = (x, rest, own, more)
    if any(len(column) and not 0 <= int(column.min()) <= int(column.max()) < LARGEST for column in amounts):
        raise CorruptCell("a visit has an impossible amount")
    if len(bit) and not 0 <= int(bit.min()) <= int(bit.max()) < SLOTS:
        raise CorruptCell("a visit has no machine")
    n = len(bit)
    lists = VisitLists(
        divisor,
        np.repeat(np.arange(len(bodies)), visits),
        np.ones(n, np.int64),
        np.left_shift(np.int64(1), bit),
        x,
        x + rest,
        visit,
        function,
        own,
        own + more,
    )
    _check_visits(lists)  # no amount is negative, so self is at most total
    return lists


def _scalars(lists: VisitLists) -> list[npt.NDArray[Any]]:
    """Machine bits, Σx, Σx², Σx⁴ and Σx·X of every cell."""
    bits = np.zeros(len(lists), np.int64)
    np.bitwise_or.at(bits, lists.cell, lists.machine_bit)
    x = lists.x.astype(np.float64)
    xx = x * x
    columns = (x, xx, xx * xx, x * lists.event)
    return [bits, *(weight_at(lists.cell, column, len(lists)) for column in columns)]


class Pairs(NamedTuple):
    """Columns over the pairs of some cells, which ascend by cell, function, visit."""

    function: Int64
    visit: Int64
    """Counted over all cells."""
    own: Int64
    more: Int64
    """Total minus self."""


def pack_pairs(pairs: Pairs, rows: Int64, visits: Int64) -> list[bytes]:
    """Encode the pairs of each cell in the smaller form; `rows` and `visits` are the pairs and visits of each cell."""
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
        functions_of = steps(pairs.function[of], rows[many])
        packed = pack_many((functions_of, number[of], pairs.own[of], pairs.more[of]), rows[many])
        for place, blob in zip(many.tolist(), packed, strict=True):
            blobs[place] = blob
    return blobs


def unpack_pairs(blobs: Sequence[memoryview], rows: Int64, visits: Int64) -> Pairs:
    """The pairs of cells in either form, in order. Raises `CorruptChunk`, `CorruptCell` or `struct.error`."""
    with_bits = np.array([len(blob) > 0 and blob[0] == _BITS for blob in blobs], np.bool_)
    first_visit = np.cumsum(visits) - visits

    def read(unpack_form: Callable[..., Pairs]) -> Callable[[Int64], Pairs]:
        return lambda of: unpack_form([blobs[i] for i in of.tolist()], rows[of], visits[of], first_visit[of])

    return Pairs(*unpack_two(with_bits, rows, read(_unpack_bits), read(_unpack_columns)))


def _suits(functions: Int64, rows: Int64, visits: Int64) -> Bool:
    """Cells with few enough bits per pair."""
    suits: Bool = 8 * functions * _bytes_each(visits) <= _BITS_A_PAIR * rows
    return suits


def _bytes_each(visits: Int64) -> Int64:
    """Bytes of one function's bits."""
    return (visits + 7) // 8


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
    # The bits within a byte are distinct, so their sum is their OR.
    so_far = np.zeros(len(number) + 1, np.int64)
    np.cumsum(np.left_shift(1, number & 7), out=so_far[1:])
    if len(begins) == int(size.sum()):
        bits = np.diff(so_far[np.append(starts, len(number))])
    else:
        place = np.repeat(begins, np.diff(starts, append=len(number))) + (number >> 3)
        runs = np.flatnonzero(np.diff(place, prepend=-1))
        bits = np.zeros(int(size.sum()), np.int64)
        bits[place[runs]] = np.diff(so_far[np.append(runs, len(number))])
    differences = pack_many((steps(function[starts], functions) - 1,), functions)
    masks = pack_bytes(bits.astype(np.uint8), functions * each)
    amounts = pack_amounts(own, more, rows)
    return [
        _PAIRS.pack(_BITS, n, len(step), len(mask)) + step + mask + amount
        for n, step, mask, amount in zip(functions.tolist(), differences, masks, amounts, strict=True)
    ]


def _unpack_bits(blobs: Sequence[memoryview], rows: Int64, visits: Int64, first_visit: Int64) -> Pairs:
    heads = [_PAIRS.unpack_from(blob) for blob in blobs]
    functions = np.array([head[1] for head in heads], np.int64)
    # With 0 visits, any number of functions would pass.
    if (functions > rows).any() or not _suits(functions, rows, visits).all():
        raise CorruptCell("there are more functions than pairs")
    cuts = [
        (blob, _PAIRS.size + step, _PAIRS.size + step + mask)
        for blob, (*_, step, mask) in zip(blobs, heads, strict=True)
    ]
    (differences,) = unpack([blob[_PAIRS.size : end] for blob, end, _ in cuts], functions, 1)
    bytes_each = _bytes_each(visits)
    masks = unpack_bytes([blob[begin:end] for blob, begin, end in cuts], functions * bytes_each)
    own, more = unpack_amounts([blob[end:] for blob, _, end in cuts], rows)
    size = np.repeat(bytes_each, functions)
    begins = np.cumsum(size) - size
    found = np.bitwise_count(masks).astype(np.int64)
    if len(masks) > len(begins):
        found = np.add.reduceat(found, begins)
    # Bits after the last visit must be 0.
    spare = 8 * bytes_each - visits
    last = masks[begins + size - 1] if len(begins) else masks
    if (last >> np.repeat(8 - spare, functions).astype(np.uint8) != 0)[np.repeat(spare > 0, functions)].any():
        raise CorruptCell("a pair has no visit")
    bounds = np.concatenate(([0], np.cumsum(functions)))
    so_far = np.concatenate(([0], np.cumsum(found)))
    if (len(found) and int(found.min()) < 1) or not np.array_equal(np.diff(so_far[bounds]), rows):
        raise CorruptCell("a function has no visit, or the numbers of pairs and of amounts differ")
    if len(differences) and not 0 <= int(differences.min()) <= int(differences.max()) < _BEYOND:
        raise CorruptCell("functions are not in ascending order")
    function = from_steps(differences + 1, functions)
    at = np.flatnonzero(np.unpackbits(masks, bitorder="little").view(np.bool_))
    to_visit = np.repeat(first_visit, functions) - 8 * begins
    if len(masks) > len(begins):
        function, to_visit = np.repeat(function, size), np.repeat(to_visit, size)
    of = at >> 3  # by byte: indexing takes a third of the time of repeating
    at += to_visit[of]
    return Pairs(function[of], at, own, more)


def _unpack_columns(blobs: Sequence[memoryview], rows: Int64, visits: Int64, first_visit: Int64) -> Pairs:
    differences, number, own, more = unpack(blobs, rows, 4)
    if (number < 0).any() or (number >= np.repeat(visits, rows)).any():
        raise CorruptCell("a pair has no visit")
    filled = rows[rows > 0]
    if len(filled):
        first = np.cumsum(filled) - filled
        if not 0 <= int(differences.min()) <= int(differences.max()) < _BEYOND:
            raise CorruptCell("functions are not in ascending order")
        same = differences == 0
        same[0] = False
        again = np.flatnonzero(same)
        if (differences[first] < 1).any() or (number[again] <= number[again - 1]).any():
            raise CorruptCell("a cell contains a function of a visit twice")
    return Pairs(from_steps(differences, rows), number + np.repeat(first_visit, rows), own, more)
