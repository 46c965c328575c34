"""Encode the moments of cells and add visits to them.

A cell stores a list of its visits while the list is smaller than sums, and sums from then on.
"""

from collections.abc import Sequence

import numpy as np

from storage.arrays import Bool, Int64
from storage.blobs.columns import steps
from storage.errors import CorruptCell
from storage.rollup import moments, moments_codec, unpacked_moments, visit_list_codec, visit_lists
from storage.rollup.moments import Sums
from storage.rollup.moments_codec import HEAD, ONE, ONE_CELL, VERSION, pack_functions, parted
from storage.rollup.visit_lists import VisitLists


def add(before: Sequence[bytes | memoryview | None], gained: VisitLists) -> tuple[list[bytes], Bool]:
    """Return the new blobs of cells, and which cells hold less than is to be subtracted.

    `before` has None for a cell that does not exist yet. If any cell holds too little, nothing may be written and all
    blobs are empty. Raises `CorruptCell`.
    """
    n = len(gained)
    there = np.array([blob is not None for blob in before], np.bool_)
    kept = np.array([blob is not None and keeps_visits(blob) for blob in before], np.bool_)

    def blobs_of(cells: Int64) -> list[bytes | memoryview]:
        return [blob for blob in (before[i] for i in cells.tolist()) if blob is not None]

    blobs: list[bytes] = [b""] * n
    bad = np.zeros(n, np.bool_)

    listed = np.flatnonzero(kept | ~there)
    old = np.searchsorted(listed, np.flatnonzero(kept))
    found = [lists.spread(old[cells], len(listed)) for cells, lists in _decoded(blobs_of(listed[old]))]
    visits, bad[listed] = visit_lists.add(*found, gained.of(listed))

    summed = np.flatnonzero(there & ~kept)
    sums = unpacked_moments.decode(blobs_of(summed))
    if len(summed):
        sums = moments.add(sums, gained.of(summed).sums())
        bad[summed] = sums.negative()
    if bad.any():
        return blobs, bad
    for cells, new in ((listed, encode_lists(visits)), (summed, moments_codec.encode(sums))):
        for i, blob in zip(cells.tolist(), new, strict=True):
            blobs[i] = blob
    return blobs, bad


def merged(blobs: Sequence[bytes | memoryview], into: Int64, cells: int) -> list[bytes]:
    """Merge cells of disjoint visits into fewer cells: cell i goes into `into[i]`. Raises `CorruptCell`."""
    kept = np.array([keeps_visits(blob) for blob in blobs], np.bool_)
    # A cell of sums does not list its visits, so all cells that are merged with it become sums.
    listed = np.ones(cells, np.bool_)
    listed[into[~kept]] = False
    result: list[bytes] = [b""] * cells
    for lists in (True, False):
        wanted = np.flatnonzero(listed == lists)
        chosen = np.flatnonzero(listed[into] == lists)
        of = [blobs[i] for i in chosen.tolist()]
        place = np.zeros(cells, np.int64)
        place[wanted] = np.arange(len(wanted))
        there = place[into[chosen]]
        if lists:
            new = encode_lists(decode_lists(of).into(there, len(wanted)))
        else:
            new = moments_codec.encode(moments.into(unpacked_moments.decode(of), there, len(wanted)))
        for i, blob in zip(wanted.tolist(), new, strict=True):
            result[i] = blob
    return result


def keeps_visits(blob: bytes | memoryview) -> bool:
    """Whether `decode_lists` can read the cell."""
    return len(blob) > 1 and blob[1] in {ONE, visit_list_codec.KIND}


def encode_lists(lists: VisitLists) -> list[bytes]:
    """Encode each cell as its visits, or as sums if it has many (`VisitLists.listed`). Raises `CorruptCell`."""
    single = (lists.visits == 1) & (lists.pairs > 0)
    listed = (lists.visits > 1) & lists.listed()
    blobs: list[bytes] = [b""] * len(lists)
    alone = np.flatnonzero(single)
    ones = lists.of(alone)
    visit_list_codec.check(ones)
    for place, blob in zip(alone.tolist(), _encode_ones(ones), strict=True):
        blobs[place] = blob
    kept = np.flatnonzero(listed)
    part = lists.of(kept)
    heads = zip(part.pairs.tolist(), part.divisor.tolist(), strict=True)
    for place, head, body in zip(kept.tolist(), heads, visit_list_codec.encode(part), strict=True):
        blobs[place] = HEAD.pack(VERSION, visit_list_codec.KIND, *head) + body
    summed = np.flatnonzero(~(single | listed))
    larger = lists.of(summed)
    visit_list_codec.check(larger)
    for place, blob in zip(summed.tolist(), moments_codec.encode(larger.sums()), strict=True):
        blobs[place] = blob
    return blobs


def _encode_ones(lists: VisitLists) -> list[bytes]:
    """Encode cells of one visit each: the bytes equal those of `moments_codec.encode` for their sums."""
    pairs = lists.pairs
    x = lists.x.astype(np.float64)
    cells = zip(
        pairs.tolist(), lists.divisor.tolist(), lists.machine_bit.tolist(), x.tolist(),
        (x * lists.event).tolist(), strict=True,
    )  # fmt: skip
    packed = pack_functions(steps(lists.function, pairs), lists.own, lists.total - lists.own, pairs)
    return [
        HEAD.pack(VERSION, ONE, rows, divisor) + ONE_CELL.pack(*cell) + body
        for (rows, divisor, *cell), body in zip(cells, packed, strict=True)
    ]


def decode_lists(blobs: Sequence[bytes | memoryview]) -> VisitLists:
    """Decode the visits of many cells that list them, in order. Raises `CorruptCell`."""
    (single, ones), (several, lists) = _decoded(blobs)
    return visit_lists.concatenated(ones, lists).of(np.argsort(np.concatenate((single, several))))


def _decoded(
    blobs: Sequence[bytes | memoryview],
) -> tuple[tuple[Int64, VisitLists], tuple[Int64, VisitLists]]:
    """Return (cells of one visit, their visits), (cells of several visits, their visits). Raises `CorruptCell`."""
    kinds = np.array([blob[1] for blob in blobs], np.int64)
    single, several = np.flatnonzero(kinds == ONE), np.flatnonzero(kinds != ONE)
    ones = _single_visits(unpacked_moments.decode([blobs[i] for i in single.tolist()]))
    heads, bodies = parted([blobs[i] for i in several.tolist()])
    rows, divisor = (np.array([head[i] for head in heads], np.int64) for i in (2, 3))
    return (single, ones), (several, visit_list_codec.decode(bodies, rows, divisor))


def _single_visits(sums: Sums) -> VisitLists:
    """Convert the sums of cells of one visit to lists."""
    x = sums.x
    event = np.rint(np.divide(sums.xe, x, out=np.zeros(len(x)), where=x > 0))
    if (
        not ((x <= event) & (event < visit_list_codec.LARGEST)).all()
        or (np.bitwise_count(sums.machines) != 1).any()
    ):
        raise CorruptCell("a visit has an impossible amount")
    one = np.ones(len(x), np.int64)
    lists = VisitLists(
        sums.divisor, np.arange(len(x)), one, sums.machines, x.astype(np.int64), event.astype(np.int64),
        sums.cell, sums.function, sums.own, sums.total,
    )  # fmt: skip
    visit_list_codec.check(lists)
    return lists
