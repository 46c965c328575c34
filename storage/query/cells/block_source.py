"""Read rows of cells for blocks, arranged by key, and cache decoded blocks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection

from storage.arrays import Bool, Int64, group_starts
from storage.query.cells.blocks import ClosedBlock, KnownBlock, OpenBlock, within
from storage.rollup import read_cells
from storage.rollup.cell_rows import ANSWER_BYTES
from storage.rollup.cubes import DAY, HOUR, Source
from storage.rollup.moments import Sums
from storage.rollup.read_cells import Cells, Functions, WeightedCells
from storage.rollup.time_cover import Cover
from storage.rollup.unpacked_moments import Unpacked
from storage.snapshots import query_budget
from storage.snapshots.decoded_cache import DecodedCache

HOT = 256
"""Functions with the largest self units, and as many with the largest total, whose squares are cached with a block:
more than a page shows, and the same ones in most answers."""
MOST_KNOWN = 4096
"""Maximum number of functions of a block whose squares are cached: the hot ones and those of the last page. Those of a
larger page are read for one query only."""
ENTRY_BYTES = 96
"""Memory per function of a cell while a block is built."""
SQUARE_BYTES = 120
"""Memory per function of a cell whose squares are decoded; as much twice more while they are unpacked."""
PART_BYTES = 8 << 20
"""Stored bytes of cells read at a time when cached blocks lack functions."""
TOGETHER = (HOUR, -1)
"""Key of uncached hours and days, which form one block. Those that would make it larger than `TOGETHER_ROWS` go to the
next lower buckets."""
TOGETHER_ROWS = 1_000_000
"""Functions of cells, or (function, visit) pairs."""

_KEY = ("level", "bucket", "k1", "k2")
_COUNTED = ("profiles", "visits", "samples", "total", "version")
OPEN = (*_KEY, "stratum", "utilisation_class", *_COUNTED)
CLOSED = (*_KEY, *_COUNTED, "weighted_total")
"""Columns of the rows, with doubles as raw bits."""

_Cells = TypeVar("_Cells", Cells, WeightedCells)
_Block = TypeVar("_Block", OpenBlock, ClosedBlock, KnownBlock)
Key = tuple[int, int]
"""Level and bucket."""
Places = dict[Key, slice]


@dataclass(frozen=True, slots=True)
class BlockKey:
    """The cells of a block: those of a bucket, of all keys or of some."""

    source: Source
    k1: tuple[int, ...] | None
    level: int
    bucket: int
    chosen: bool = False
    """Whether it holds only a few functions."""


@dataclass(frozen=True, slots=True)
class BlockSource:
    """Source and cache of blocks."""

    connection: Connection
    cache: DecodedCache
    source: Source
    k1: tuple[int, ...] | None

    def key(self, of: Key) -> BlockKey:
        """The cache key of the block of a level and bucket."""
        return BlockKey(self.source, self.k1, *of)

    def cached(self, kind: type[_Block], key: BlockKey, rows: Int64) -> _Block | None:
        """The cached block of a key, if it has these rows; charged to the budget like a read of them."""
        block = self.cache.get(kind, key)
        if block is None or not np.array_equal(block.rows, rows):
            return None
        query_budget.take(block.stored)
        return block

    def keeps(self, of: Key) -> bool:
        """Whether such a block is cached: hours and days of one application are hardly requested twice.

        The running hour is cached as well; each version replaces the one before, so there is one at a time.
        """
        return of[0] > DAY or self.k1 is None

    def to_know(self, of: Key, block: OpenBlock | ClosedBlock, ids: Int64) -> tuple[Int64, bool]:
        """The functions whose squares a block without some of `ids` gets, and whether it is cached with them."""
        here = ids[within(ids, block.function)]
        if self.keeps(of):
            known = np.union1d(here, hottest(block))
            if len(known) <= MOST_KNOWN:
                return known, True
        return here, False

    def open(self, keys: Sequence[Key], functions: Functions) -> Cells:
        """The cells of hours and days with their versions and, depending on `functions`, their moments by function."""
        return self._read(read_cells.read_cells, keys, functions)

    def heads(self, keys: Sequence[Key]) -> Cells:
        """As `open`, with the moments of each cell as a whole."""
        return self._read(read_cells.read_cells, keys, Functions.NONE, heads=True)

    def closed(self, keys: Sequence[Key], functions: Functions) -> WeightedCells:
        """As `open`, for buckets of days."""
        return self._read(read_cells.read_weighted, keys, functions)

    def _read(
        self,
        read: Callable[..., _Cells],
        keys: Sequence[Key],
        functions: Functions,
        *,
        heads: bool = False,
    ) -> _Cells:
        return read(
            self.connection,
            self.source,
            _cover(keys),
            k1=self.k1,
            facts=False,
            moments=heads or functions is not Functions.NONE,
            functions=functions,
            versions=True,
            limit=ANSWER_BYTES,
        )

    def still_cached(
        self,
        kind: type[_Block],
        keys: Sequence[Key],
        read: Callable[[Sequence[Key], Functions], Cells | WeightedCells],
    ) -> dict[Key, _Block]:
        """The cached blocks whose rows have not changed."""
        there = [key for key in keys if self.cache.has(self.key(key))]
        if not there:
            return {}
        now = self.arranged(read(there, Functions.NONE))
        found = {
            key: self.cached(kind, self.key(key), now.rows[:, place]) for key, place in now.places.items()
        }
        return {key: block for key, block in found.items() if block is not None}

    def arranged(self, cells: Cells | WeightedCells) -> "Arranged":
        """The rows of cells sorted by key, and which of them belong to one block."""
        order, rows = in_order(cells)
        places: Places = {}
        level_together, bucket_together = TOGETHER
        rows_together = 0
        for key, place in keys_of(rows):
            known, low, high = key, place.start, place.stop
            # Uncached blocks precede cached ones, because levels ascend.
            if not self.keeps(key):
                more = int(cells.unpacked.rows[order[low:high]].sum())
                if rows_together and rows_together + more > TOGETHER_ROWS:
                    bucket_together -= 1
                    rows_together = 0
                rows_together += more
                known = level_together, bucket_together
            places[known] = slice(places[known].start if known in places else low, high)
        return Arranged(order, rows, places)


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows of cells sorted by key."""

    order: Int64
    """The original index of each cell."""
    rows: Int64
    """(columns, cells)."""
    places: Places
    """The slice of each block's cells."""

    def cells(self, key: Key) -> Int64:
        """The cells of a block, as original indices, sorted by key."""
        return self.order[self.places[key]]


def in_order(cells: Cells | WeightedCells) -> tuple[Int64, Int64]:
    """The order of the cells by key, and their rows in it, with the columns of `OPEN` or `CLOSED`."""
    names = OPEN if isinstance(cells, Cells) else CLOSED
    by = names[: names.index(_COUNTED[0])]
    order = np.lexsort([getattr(cells, name) for name in reversed(by)])
    return order, np.stack([getattr(cells, name)[order].view(np.int64) for name in names])


_APART = 1 << 32


def keys_of(rows: Int64) -> Iterator[tuple[Key, slice]]:
    """The levels and buckets of sorted rows, and the slice of each."""
    level, bucket = rows[0], rows[1]
    begin = group_starts(level * _APART + bucket).tolist()
    for low, high in zip(begin, [*begin[1:], rows.shape[1]], strict=False):
        yield (int(level[low]), int(bucket[low])), slice(low, high)


def open_cells(rows: Int64, heads: Sums) -> Cells:
    """Cells with these rows, with the columns of `OPEN`, without stacks and functions."""
    nothing = np.zeros(0, np.int64)
    return Cells(
        **dict(zip(OPEN, rows, strict=True)),
        facts=np.zeros(rows.shape[1], np.int64),
        stack=nothing,
        units=nothing,
        moments=heads,
        unpacked=Unpacked(()),
    )


def _cover(keys: Sequence[Key]) -> Cover:
    return Cover(
        hours=tuple(bucket for level, bucket in keys if level == HOUR),
        days=tuple(bucket for level, bucket in keys if level == DAY),
        weighted=tuple((level, bucket) for level, bucket in keys if level > DAY),
    )


def hottest(block: OpenBlock | ClosedBlock) -> Int64:
    """The functions of a block with the most units; ascending."""
    chosen = [
        np.argpartition(units, -HOT)[-HOT:] if len(units) > HOT else np.arange(len(units))
        for units in (block.own, block.total)
    ]
    return block.function[np.unique(np.concatenate(chosen))].astype(np.int64)


def in_parts(blocks: Mapping[Key, OpenBlock | ClosedBlock]) -> Iterator[list[Key]]:
    """The blocks' keys in groups of about `PART_BYTES` stored bytes."""
    part: list[Key] = []
    stored = 0
    for key, block in blocks.items():
        if part and stored + block.stored > PART_BYTES:
            yield part
            part, stored = [], 0
        part.append(key)
        stored += block.stored
    if part:
        yield part


def square_bytes(rows: Int64, known: Int64) -> int:
    """Upper bound of the memory for squares of known functions, given the functions of each cell."""
    return SQUARE_BYTES * int(np.minimum(rows, len(known)).sum())


def mask_of(ids: Int64) -> Bool:
    """A mask by function id of the given functions."""
    wanted = np.zeros(int(ids.max(initial=0)) + 1, np.bool_)
    wanted[ids] = True
    return wanted


class PeakReservation:
    """Reserves budget for objects that are held one at a time: the size of the largest."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, size: int) -> None:
        """As `query_budget.take`, for the part that is not reserved already."""
        query_budget.take(max(size - self._taken, 0))
        self._taken = max(size, self._taken)
