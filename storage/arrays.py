"""Array types of queries and rollups, and operations on them: sort, group, sum."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Int16 = npt.NDArray[np.int16]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Float = npt.NDArray[np.float64]

Narrow = npt.NDArray[np.integer]
"""Integers ≥ 0 in the narrowest sufficient type."""

_EXACT_IN_FLOAT64 = 1 << 53
_BITS = 63
_LONG = 64
"""Average slice length from which concatenating slices is faster than computing positions."""


def in_doubles(values: Int64) -> bool:
    """Whether float64 represents every partial sum of these `values` ≥ 0 exactly."""
    return not len(values) or int(values.sum(dtype=np.float64)) < _EXACT_IN_FLOAT64 // 2


def sum_at(index: npt.NDArray[np.integer], values: Int64, size: int) -> Int64:
    """Sums of non-negative `values` by `index` (0…size−1), exact up to int64.

    `bincount` is several times faster than `add.at` but adds in float64, so it is used only if no partial sum can
    exceed 2⁵³.
    """
    if in_doubles(values):
        return np.bincount(index, weights=values, minlength=size).astype(np.int64)
    sums = np.zeros(size, np.int64)
    np.add.at(sums, index, values)
    return sums


def weight_at(index: npt.NDArray[np.integer], values: Float, size: int) -> Float:
    """Sums of floats by `index` (0…size−1)."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def sorting(keys: npt.NDArray[np.integer]) -> Int64:
    """The stable sort order of keys ≥ 0.

    Key and position are packed into one number if they fit: `np.sort` is then four times as fast as a stable
    `np.argsort`.
    """
    bits = max(len(keys) - 1, 0).bit_length()
    if not len(keys) or int(keys.max()).bit_length() + bits > 63:
        return np.argsort(keys, kind="stable")
    packed = (keys.astype(np.int64) << bits) | np.arange(len(keys))
    packed.sort()
    order: Int64 = packed & ((1 << bits) - 1)
    return order


def ranking(values: npt.NDArray[np.number]) -> Int64:
    """The stable sort order of any numbers; takes a third of the time of a stable `np.argsort`."""
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
    """Positions of consecutive slices: first[0], first[0] + 1, … (lengths[0] of them), first[1], …."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    positions: Int64 = np.arange(total) + np.repeat(first - before, lengths)
    return positions


def slices(columns: Sequence[Int64], first: Int64, lengths: Int64) -> list[Int64]:
    """Each column at the positions of `runs`; long slices are copied whole, in a third of the time."""
    if int(lengths.sum()) <= _LONG * len(lengths):
        places = runs(first, lengths)
        return [column.take(places) for column in columns]
    # Merge adjacent slices.
    lead = np.flatnonzero(np.diff(first) != lengths[:-1]) + 1
    lows = first[np.concatenate(([0], lead))].tolist()
    highs = (first + lengths)[np.concatenate((lead, [len(first)])) - 1].tolist()
    return [
        np.concatenate([column[low:high] for low, high in zip(lows, highs, strict=True)])
        for column in columns
    ]


def by_pair(high: Int64, low: Int64) -> tuple[Int64, Int64]:
    """The stable sort order by (high, low), both ≥ 0, and the positions in it where a new pair begins.

    Measured at 10⁶ pairs: `np.sort` of packed numbers takes 5 ns each, `np.argsort` 15, `np.lexsort` over 150; so pair
    and position are packed into one number if they fit.
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
    """Number of rows in each of the cells 0…cells−1."""
    return np.bincount(cell, minlength=cells).astype(np.int64)


def among(ids: Int64, wanted: Bool) -> Int64:
    """Positions of the ids ≥ 0 that are set in `wanted`; ids beyond its end are not."""
    inside = np.minimum(ids, len(wanted))
    return np.flatnonzero(np.append(wanted, False)[inside])


def ascending(ids: Int64) -> Int64:
    """The distinct ids, ascending; `np.unique` hashes first, which takes four times as long as sorting."""
    found = np.sort(ids)
    return found[group_starts(found)]


_SPARSE = 16
"""Maximum table entries per lookup: beyond that, sorting is faster than touching the table."""


def distinct(ids: Int64) -> tuple[Int64, Int64]:
    """The distinct ids ≥ 0, ascending, and the position of each of `ids` among them.

    Like `np.unique`, but dictionary ids are usually dense, and a table of all possible ids needs no sorting. A few
    ids out of millions of stacks are sorted, so that the cost of a query does not depend on the size of the dictionary.
    """
    if not len(ids):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if (ids[1:] > ids[:-1]).all():  # as in sums by stack
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
    place = np.empty(len(seen), np.int32)  # half as many bytes for random access to the table
    place[found] = np.arange(len(found), dtype=np.int32)
    return found, place[ids].astype(np.int64)


def narrow(numbers: Int64) -> Narrow:
    """A copy of the numbers, ≥ 0, in the narrowest sufficient type."""
    largest = int(numbers.max(initial=0))
    kinds = (kind for kind in (np.uint16, np.uint32) if largest <= np.iinfo(kind).max)
    return numbers.astype(next(kinds, np.int64))
