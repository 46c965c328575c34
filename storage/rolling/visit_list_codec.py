"""The blob of a cell that keeps its visits (`roll.moments`, kind 3; the others: `moments_codec`).

    body = what a cell of several visits begins with: visits u32, machine bits i64, Σx, Σx², Σx⁴, Σx·X f64
         · length u32 · packed columns of the visits: machine's bit, x, X − x
         · the pairs of a function and a visit: storage/rolling/visit_pairs_codec.py

The sums in front are for readers that want nothing else (`moment_heads`); they follow from the visits.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.landing.columns import pack_many, unpack
from storage.landing.errors import CorruptChunk
from storage.rolling.errors import CorruptCell
from storage.rolling.moments import SLOTS
from storage.rolling.sorting import Int64, added_up
from storage.rolling.visit_lists import MOST_VISITS, VisitLists
from storage.rolling.visit_pairs_codec import Pairs, pack_pairs, unpack_pairs

KIND = 3
_CELL = struct.Struct("<IqddddI")
LARGEST = 1 << 51
"""Of what a visit has: its fourth power, and that of a sum over all visits there are, is far from any limit."""
Blobs = Sequence[bytes | memoryview]


def check(lists: VisitLists) -> None:
    """Raises `CorruptCell` for what `decode` refuses, so that it is kept out of a cell."""
    if (lists.own < 0).any() or (lists.own > lists.total).any():
        raise CorruptCell("a visit with an impossible amount")
    _check_visits(lists)


def _check_visits(lists: VisitLists) -> None:
    fits = (lists.x >= 0) & (lists.event >= lists.x) & (lists.event < LARGEST)
    if not fits.all():
        raise CorruptCell("a visit with an impossible amount")
    if (lists.total > lists.x.take(lists.visit)).any() or (lists.total < 1).any():
        raise CorruptCell("a function with more than its visit")


def _check_number(visits: Int64) -> None:
    """Of each cell's visits; what is unpacked of a cell is bounded by it."""
    if ((visits < 1) | (visits > MOST_VISITS)).any():
        raise CorruptCell("a cell of no visits, or of more than are kept")


def encode(lists: VisitLists) -> list[bytes]:
    """One body for each cell, none without a visit. Raises `CorruptCell` for what `decode` refuses."""
    check(lists)
    if not len(lists):
        return []
    visits, pairs = lists.visits, lists.pairs
    _check_number(visits)
    bit = np.bitwise_count((lists.machine_bit & -lists.machine_bit) - 1).astype(np.int64)
    if (lists.machine_bit <= 0).any() or (bit >= SLOTS).any():
        raise CorruptCell("a visit of no machine")
    of_visits = pack_many((bit, lists.x, lists.event - lists.x), visits)
    columns = Pairs(lists.function, lists.visit, lists.own, lists.total - lists.own)
    of_pairs = pack_pairs(columns, pairs, visits)
    sums = zip(visits.tolist(), *(column.tolist() for column in _scalars(lists)), strict=True)
    return [
        _CELL.pack(*scalars, len(packed)) + packed + rest
        for scalars, packed, rest in zip(sums, of_visits, of_pairs, strict=True)
    ]


def decode(bodies: Blobs, pairs: Int64, divisor: Int64) -> VisitLists:
    """The visits of many cells, in order. Raises CorruptCell."""
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
        raise CorruptCell(f"the visits of a cell do not decode: {error}") from error
    amounts = (x, rest, own, more)
    if any(len(column) and not 0 <= int(column.min()) <= int(column.max()) < LARGEST for column in amounts):
        raise CorruptCell("a visit with an impossible amount")
    if len(bit) and not 0 <= int(bit.min()) <= int(bit.max()) < SLOTS:
        raise CorruptCell("a visit of no machine")
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
    _check_visits(lists)  # no amount is below 0: self is no more than total
    return lists


def _scalars(lists: VisitLists) -> list[npt.NDArray[Any]]:
    """Machine bits, Σx, Σx², Σx⁴ and Σx·X of every cell."""
    bits = np.zeros(len(lists), np.int64)
    np.bitwise_or.at(bits, lists.cell, lists.machine_bit)
    x = lists.x.astype(np.float64)
    xx = x * x
    columns = (x, xx, xx * xx, x * lists.event)
    return [bits, *(added_up(lists.cell, column, len(lists)) for column in columns)]
