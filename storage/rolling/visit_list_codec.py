"""The blob of a cell that keeps its visits (`roll.moments`, kind 3; the others: `moments_codec`).

    body = what a cell of several visits begins with: visits u32, machine bits i64, Σx, Σx², Σx⁴, Σx·X f64
         · length u32 · packed columns of the visits: machine's bit, x, X − x
         · packed columns of the pairs: function step (0: the same one), visit, self, total − self

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
from storage.rolling.visit_lists import VisitLists

KIND = 3
_CELL = struct.Struct("<IqddddI")
LARGEST = 1 << 51
"""Of what a visit has: its fourth power, and that of a sum over all visits there are, is far from any limit."""
Blobs = Sequence[bytes | memoryview]


def check(lists: VisitLists) -> None:
    """Raises `CorruptCell` for what `decode` refuses, so that it is kept out of a cell."""
    fits = (lists.x >= 0) & (lists.event >= lists.x) & (lists.event < LARGEST)
    if not fits.all() or (lists.own < 0).any() or (lists.own > lists.total).any():
        raise CorruptCell("a visit with an impossible amount")
    if (lists.total > lists.x[lists.visit]).any() or (lists.total < 1).any():
        raise CorruptCell("a function with more than its visit")


def encode(lists: VisitLists) -> list[bytes]:
    """One body for each cell, none without a visit. Raises `CorruptCell` for what `decode` refuses."""
    check(lists)
    if not len(lists):
        return []
    visits, pairs = lists.visits, lists.pairs
    bit = np.bitwise_count((lists.machine_bit & -lists.machine_bit) - 1).astype(np.int64)
    if (lists.machine_bit <= 0).any() or (bit >= SLOTS).any():
        raise CorruptCell("a visit of no machine")
    steps = np.diff(lists.function, prepend=0)
    first = (np.cumsum(pairs) - pairs)[pairs > 0]
    steps[first] = lists.function[first]
    number = lists.visit - np.repeat(np.cumsum(visits) - visits, pairs)
    of_visits = pack_many((bit, lists.x, lists.event - lists.x), visits)
    of_pairs = pack_many((steps, number, lists.own, lists.total - lists.own), pairs)
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
        cuts = [_CELL.size + head[-1] for head in heads]
        of_visits = [memoryview(b)[_CELL.size : cut] for b, cut in zip(bodies, cuts, strict=True)]
        bit, x, rest = unpack(of_visits, visits, 3)
        of_pairs = [memoryview(b)[cut:] for b, cut in zip(bodies, cuts, strict=True)]
        steps, number, own, more = unpack(of_pairs, pairs, 4)
    except (CorruptChunk, struct.error) as error:
        raise CorruptCell(f"the visits of a cell do not decode: {error}") from error
    amounts = (x, rest, own, more)
    if any(len(column) and not 0 <= int(column.min()) <= int(column.max()) < LARGEST for column in amounts):
        raise CorruptCell("a visit with an impossible amount")
    if len(bit) and not 0 <= int(bit.min()) <= int(bit.max()) < SLOTS:
        raise CorruptCell("a visit of no machine")
    cell_of_pair = np.repeat(np.arange(len(bodies)), pairs)
    if (number < 0).any() or (number >= visits[cell_of_pair]).any():
        raise CorruptCell("a pair of no visit")
    n = len(bit)
    lists = VisitLists(
        divisor,
        np.repeat(np.arange(len(bodies)), visits),
        np.ones(n, np.int64),
        np.left_shift(np.int64(1), bit),
        x,
        x + rest,
        number + np.repeat(np.cumsum(visits) - visits, pairs),
        _functions(steps, number, pairs),
        own,
        own + more,
    )
    check(lists)
    return lists


def _functions(steps: Int64, number: Int64, pairs: Int64) -> Int64:
    filled = pairs[pairs > 0]
    if not len(filled):
        return steps
    first = np.cumsum(filled) - filled
    if not 0 <= int(steps.min()) <= int(steps.max()) < 1 << 31:
        raise CorruptCell("functions that do not ascend")
    same = steps == 0
    same[0] = False
    again = np.flatnonzero(same)
    if (steps[first] < 1).any() or (number[again] <= number[again - 1]).any():
        raise CorruptCell("a cell holds a function of a visit twice")
    function = np.cumsum(steps)
    function -= np.repeat(function[first] - steps[first], filled)
    if int(function.max()) >= 1 << 31:
        raise CorruptCell("a function id beyond 31 bits")
    return function


def _scalars(lists: VisitLists) -> list[npt.NDArray[Any]]:
    """Machine bits, Σx, Σx², Σx⁴ and Σx·X of every cell."""
    bits = np.zeros(len(lists), np.int64)
    np.bitwise_or.at(bits, lists.cell, lists.machine_bit)
    x = lists.x.astype(np.float64)
    xx = x * x
    columns = (x, xx, xx * xx, x * lists.event)
    return [bits, *(added_up(lists.cell, column, len(lists)) for column in columns)]
