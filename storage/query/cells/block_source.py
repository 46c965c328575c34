"""Where blocks of cells come from: the rows of the store, as tables of numbers in the order of their keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from storage.query.arrays import Bool, Int64, group_starts
from storage.query.cells.kept import BlockKey, KeptBlocks
from storage.rolling import reading
from storage.rolling.cover import Cover
from storage.rolling.cubes import DAY, HOUR, Source
from storage.rolling.reading import Cells, Functions, WeightedCells
from storage.rolling.rows import ANSWER_BYTES

HOT = 256
"""Functions with most units of their own, and as many with most in all, whose squares are kept with a block: more than a page
shows, and the same ones in most answers."""
MOST_KNOWN = 4096
"""Functions of a block whose squares are kept at most; beyond it only those that were asked for last."""
ENTRY_BYTES = 96
"""Of a function of a cell while blocks are made."""
TOGETHER = (HOUR, -1)
"""In place of a level and bucket: hours and days that are not kept are one block."""

_KEY = ("level", "bucket", "k1", "k2")
_COUNTED = ("profiles", "visits", "samples", "total", "version")
OPEN = (*_KEY, "stratum", "utilisation_class", *_COUNTED)
CLOSED = (*_KEY, *_COUNTED, "weighted_total")
"""Columns of the rows, doubles bit by bit."""

Key = tuple[int, int]
"""Level and bucket."""
Places = dict[Key, slice]


@dataclass(frozen=True, slots=True)
class BlockSource:
    """Where blocks are looked for, and read from."""

    connection: Connection
    kept: KeptBlocks
    source: Source
    k1: tuple[int, ...] | None

    def key(self, of: Key) -> BlockKey:
        """What the block of a level and bucket is kept by."""
        return BlockKey(self.source, self.k1, *of)

    def keeps(self, of: Key) -> bool:
        """Whether such a block is worth its room: hours and days of one application are hardly asked for twice."""
        return of[0] > DAY or self.k1 is None

    def open(self, keys: Sequence[Key], functions: Functions) -> Cells:
        """The cells of hours and days with their versions, and of their moments what is wanted of functions."""
        return reading.read_cells(
            self.connection,
            self.source,
            _cover(keys),
            k1=self.k1,
            facts=False,
            moments=functions is not Functions.NONE,
            functions=functions,
            versions=True,
            limit=ANSWER_BYTES,
        )

    def closed(self, keys: Sequence[Key], functions: Functions) -> WeightedCells:
        """As `open`, of buckets of days."""
        return reading.read_weighted(
            self.connection,
            self.source,
            _cover(keys),
            k1=self.k1,
            facts=False,
            moments=functions is not Functions.NONE,
            functions=functions,
            versions=True,
            limit=ANSWER_BYTES,
        )

    def arranged(self, cells: Cells | WeightedCells) -> "Arranged":
        """The rows of cells in the order of their keys, and which of them are of one block."""
        names = OPEN if isinstance(cells, Cells) else CLOSED
        by = names[: names.index(_COUNTED[0])]
        order = np.lexsort([getattr(cells, name) for name in reversed(by)])
        rows = np.stack([getattr(cells, name)[order].view(np.int64) for name in names])
        level, bucket = rows[0], rows[1]
        begin = group_starts(level * _APART + bucket)
        keys = list(zip(level[begin].tolist(), bucket[begin].tolist(), strict=True))
        ends = [*begin[1:].tolist(), len(order)]
        places: Places = {}
        for key, low, high in zip(keys, begin.tolist(), ends[: len(keys)], strict=True):
            # What is not kept stands before what is: levels ascend.
            known = key if self.keeps(key) else TOGETHER
            places[known] = slice(places[known].start if known in places else low, high)
        return Arranged(order, rows, places)


_APART = 1 << 32


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows of cells in the order of their keys."""

    order: Int64
    """Where each was before."""
    rows: Int64
    """(columns, cells)."""
    places: Places
    """Where the cells of each block stand."""

    @property
    def rank(self) -> Int64:
        """Where each cell went to."""
        rank = np.empty(len(self.order), np.int64)
        rank[self.order] = np.arange(len(self.order))
        return rank


def _cover(keys: Sequence[Key]) -> Cover:
    return Cover(
        hours=tuple(bucket for level, bucket in keys if level == HOUR),
        days=tuple(bucket for level, bucket in keys if level == DAY),
        weighted=tuple((level, bucket) for level, bucket in keys if level > DAY),
    )


def hottest(function: Int64, own: Int64, total: Int64) -> Int64:
    """Those functions with most units, ascending; some may stand there more than once."""
    if len(function) <= HOT:
        return np.unique(function)
    chosen = []
    for units in (own, total):
        sums = np.bincount(function, units)
        there = np.flatnonzero(sums)
        first = max(len(there) - HOT, 0)
        chosen.append(there[np.argpartition(sums[there], first)[first:]] if first else there)
    return np.unique(np.concatenate(chosen))


def known_after(before: Sequence[Int64], wanted: Int64) -> Int64:
    """What blocks are to know that lack something of what is wanted."""
    together = np.unique(np.concatenate((*before, wanted)))
    return together if len(together) <= MOST_KNOWN else wanted


def mask_of(ids: Int64) -> Bool:
    """Whether a function is one of these, by id."""
    wanted = np.zeros(int(ids.max(initial=0)) + 1, np.bool_)
    wanted[ids] = True
    return wanted
