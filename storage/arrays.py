"""Names for the arrays that answers and rollups are made of, and what both do with them: sort, group, add up."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Int16 = npt.NDArray[np.int16]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Float = npt.NDArray[np.float64]

Narrow = npt.NDArray[np.integer]
"""Whole numbers ≥ 0 in as few bytes as hold them all."""

_EXACT_IN_FLOAT64 = 1 << 53
_BITS = 63
_LONG = 64
"""Numbers a slice from which on slices are put together faster than places are computed."""


def in_doubles(values: Int64) -> bool:
    """Whether float64 holds every sum of some of these `values` ≥ 0 exactly."""
    return not len(values) or int(values.sum(dtype=np.float64)) < _EXACT_IN_FLOAT64 // 2


def sum_at(index: npt.NDArray[np.integer], values: Int64, size: int) -> Int64:
    """Sums of non-negative `values` by `index` (0…size−1), exact up to int64.

    `bincount` is several times faster than `add.at` but adds in float64, so it is used only where
    no partial sum can pass 2⁵³.
    """
    if in_doubles(values):
        return np.bincount(index, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, index, values)
    return sums


def weight_at(index: npt.NDArray[np.integer], values: Float, size: int) -> Float:
    """Sums of any floats by `index` (0…size−1)."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def sorting(keys: npt.NDArray[np.integer]) -> Int64:
    """The order that sorts keys ≥ 0, equal ones staying in theirs.

    Key and position are packed into one number where they fit: `np.sort` is then four times as fast
    as a stable `np.argsort`.
    """
    bits = max(len(keys) - 1, 0).bit_length()
    if not len(keys) or int(keys.max()).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    packed = (keys.astype(np.int64) << bits) | np.arange(len(keys))
    packed.sort()
    order: Int64 = packed & ((1 << bits) - 1)
    return order


def ranking(values: npt.NDArray[np.number]) -> Int64:
    """The order that sorts any numbers, equal ones staying in theirs; a third of what a stable `np.argsort` takes."""
    order = np.argsort(values)
    ordered = values[order]
    rank = np.zeros(len(values), np.int64)
    rank[order[1:]] = np.cumsum(ordered[1:] != ordered[:-1])
    return sorting(rank)


def ranges(starts: Int64, ends: Int64) -> Int64:
    """All numbers of the ranges [start, end), one range after the other."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    found: Int64 = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return found


def group_starts(ascending: npt.NDArray[np.integer]) -> Int64:
    """Positions where a new run of equal numbers begins; ascending, the first is 0 unless empty."""
    if not len(ascending):
        return np.empty(0, np.int64)
    fresh = np.empty(len(ascending), np.bool_)
    fresh[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    return np.flatnonzero(fresh)


def runs(first: Int64, lengths: Int64) -> Int64:
    """first[0], first[0] + 1, … (lengths[0] of them), first[1], …: positions of many slices in a row."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    positions: Int64 = np.arange(total) + np.repeat(first - before, lengths)
    return positions


def slices(columns: Sequence[Int64], first: Int64, lengths: Int64) -> list[Int64]:
    """Of each column what `runs` says; long slices are copied as they are, in a third of the time."""
    if int(lengths.sum()) <= _LONG * len(lengths):
        places = runs(first, lengths)
        return [column.take(places) for column in columns]
    # Slices that follow one another are one.
    lead = np.flatnonzero(np.diff(first) != lengths[:-1]) + 1
    lows = first[np.concatenate(([0], lead))].tolist()
    highs = (first + lengths)[np.concatenate((lead, [len(first)])) - 1].tolist()
    return [
        np.concatenate([column[low:high] for low, high in zip(lows, highs, strict=True)])
        for column in columns
    ]


def by_pair(high: Int64, low: Int64) -> tuple[Int64, Int64]:
    """The order that sorts by (high, low), both ≥ 0, and the positions in it where a new pair begins.

    Equal pairs keep their order. Measured at 10⁶ pairs: `np.sort` of packed numbers takes 5 ns each,
    `np.argsort` 15, `np.lexsort` over 150; so pair and position are packed into one number if they fit.
    """
    n = len(high)
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low_bits, index_bits = int(low.max()).bit_length(), (n - 1).bit_length()
    bits = int(high.max()).bit_length() + low_bits
    if bits + index_bits <= _BITS:
        packed = (high << (low_bits + index_bits)) | (low << index_bits)
        packed |= np.arange(n)
        packed.sort()
        order = packed & ((1 << index_bits) - 1)
        packed >>= index_bits
        return order, group_starts(packed)
    if bits <= _BITS:
        key = (high << low_bits) | low
        order = np.argsort(key, kind="stable")
        return order, group_starts(key[order])
    order = np.lexsort((low, high))
    fresh = np.concatenate(([True], (np.diff(high[order]) != 0) | (np.diff(low[order]) != 0)))
    return order, np.flatnonzero(fresh)


def counts(cell: Int64, cells: int) -> Int64:
    """How many rows each of the cells 0…cells−1 has."""
    return np.bincount(cell, minlength=cells).astype(np.int64)


def among(ids: Int64, wanted: Bool) -> Int64:
    """Places of those ids ≥ 0 that are `wanted`, by id; what lies beyond it is not."""
    inside = np.minimum(ids, len(wanted))
    return np.flatnonzero(np.append(wanted, False)[inside])


def ascending(ids: Int64) -> Int64:
    """The different ids, ascending: `np.unique` hashes them first, which takes four times as long as sorting."""
    found = np.sort(ids)
    return found[group_starts(found)]


_SPARSE = 16
"""Places of a table of ids for each that is looked up: with more of them, sorting takes less time than touching the table."""


def distinct(ids: Int64) -> tuple[Int64, Int64]:
    """The different ids ≥ 0, ascending, and for each of `ids` its place among them.

    As `np.unique`, but ids of the dictionaries are dense as a rule, and a table of all there could be needs no sorting. A few
    out of millions of stacks are sorted: what a question costs is not to grow with what others are about.
    """
    if not len(ids):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if (ids[1:] > ids[:-1]).all():  # they are what sums by stack have
        return ids.astype(np.int64, copy=False), np.arange(len(ids))
    most = int(ids.max())
    if most > _SPARSE * len(ids):
        order = sorting(ids)
        ordered = ids[order]
        new = np.concatenate(([True], ordered[1:] != ordered[:-1]))
        place = np.empty(len(ids), np.int64)
        place[order] = np.cumsum(new) - 1
        return ordered[new].astype(np.int64, copy=False), place
    seen = np.zeros(most + 1, np.bool_)
    seen[ids] = True
    found = np.flatnonzero(seen)
    place = np.empty(len(seen), np.int32)  # half as many bytes are touched, all over the table
    place[found] = np.arange(len(found), dtype=np.int32)
    return found, place[ids].astype(np.int64)


def narrow(numbers: Int64) -> Narrow:
    """The numbers, ≥ 0, in as few bytes as hold them all; a copy."""
    largest = int(numbers.max(initial=0))
    kinds = (kind for kind in (np.uint16, np.uint32) if largest <= np.iinfo(kind).max)
    return numbers.astype(next(kinds, np.int64))
