"""What cells' moments become when visits come and go: lists of visits as long as these are smaller, then sums."""

from collections.abc import Sequence

import numpy as np

from storage.rolling import moments, moments_codec, visit_lists
from storage.rolling.sorting import Bool, Int64
from storage.rolling.visit_lists import VisitLists


def add(before: Sequence[bytes | memoryview | None], gained: VisitLists) -> tuple[list[bytes], Bool]:
    """The blobs of cells that had `before` (None: there was none), and which lack what was to be taken out.

    Nothing is to be written when any lacks something: the blobs are empty then. Raises `CorruptCell`.
    """
    n = len(gained)
    there = np.array([blob is not None for blob in before], np.bool_)
    kept = np.array([blob is not None and moments_codec.keeps_visits(blob) for blob in before], np.bool_)

    def blobs_of(cells: Int64) -> list[bytes | memoryview]:
        return [blob for blob in (before[i] for i in cells.tolist()) if blob is not None]

    blobs: list[bytes] = [b""] * n
    bad = np.zeros(n, np.bool_)

    listed = np.flatnonzero(kept | ~there)
    old = np.flatnonzero(kept)
    found = visit_lists.concatenated(moments_codec.decode_lists(blobs_of(old)), visit_lists.none(1))
    place = np.full(n, len(old), np.int64)  # a cell that is not there is the empty one behind the last
    place[old] = np.arange(len(old))
    visits, bad[listed] = visit_lists.add(found.of(place[listed]), gained.of(listed))

    summed = np.flatnonzero(there & ~kept)
    sums = moments_codec.decode(blobs_of(summed))
    if len(summed):
        sums = moments.add(sums, gained.of(summed).sums())
        bad[summed] = sums.negative()
    if bad.any():
        return blobs, bad
    for cells, new in ((listed, moments_codec.encode_lists(visits)), (summed, moments_codec.encode(sums))):
        for i, blob in zip(cells.tolist(), new, strict=True):
            blobs[i] = blob
    return blobs, bad
