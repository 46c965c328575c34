"""Cells of hours and days for queries of a few functions, one after the other: the input of series.

They are like `OpenBlocks`, without the amounts of other functions. Months of days are then a few numbers per cell, and
stored cells are unpacked some days at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Bool, Int64
from storage.query.cells.block_source import (
    TOGETHER_ROWS,
    BlockKey,
    BlockSource,
    Key,
    PeakReservation,
    in_order,
    keys_of,
    mask_of,
    open_cells,
    square_bytes,
)
from storage.query.cells.blocks import KnownBlock, OpenBlock, lacking
from storage.rollup import moments
from storage.rollup.cubes import DAY, HOUR
from storage.rollup.moments import Sums
from storage.rollup.read_cells import Functions
from storage.rollup.time_cover import Cover
from storage.snapshots import query_budget
from storage.snapshots.decoded_cache import array_bytes

AT_ONCE = 24
"""Hours or days read at a time: unpacking each by itself took 300 ms of CPU for a week of one application, not 100."""
MOST_KNOWN = 512
"""Maximum number of functions of a cached block, unless more are requested at once."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The cells of an hour or a day."""

    key: Key
    place: slice
    rows: Int64


class ChosenCells:
    """The cells of hours and days, sorted by key."""

    def __init__(self, of: BlockSource, cover: Cover) -> None:
        """Read the cells without functions. Raises `CorruptCell`, `TooMuch`, `BudgetExceeded`."""
        self._of = of
        self._room = PeakReservation()
        keys = [*((HOUR, hour) for hour in cover.hours), *((DAY, day) for day in cover.days)]
        read = of.heads(keys)
        order, rows = in_order(read)
        self._heads = (read.moments or moments.empty(0)).of(order)
        self.cells = open_cells(rows, self._heads)
        self._parts = _parts(rows)

    def of_functions(self, wanted: Bool) -> Sums:
        """As `OpenBlocks.of_functions`."""
        ids = np.flatnonzero(wanted)
        if not len(ids):
            return self._heads  # without rows
        found: dict[Key, Sums] = {}
        missing: list[tuple[_Part, Int64]] = []
        for part in self._parts:
            sums, known = self._kept(part, ids)
            if sums is None:
                missing.append((part, known))
            else:
                found[part.key] = sums.of_functions(wanted)
        for first in range(0, len(missing), AT_ONCE):
            for key, sums in self._read(missing[first : first + AT_ONCE]):
                found[key] = sums.of_functions(wanted)
        if not self._parts:
            return self._heads
        return moments.concatenated([found[part.key] for part in self._parts])

    def _kept(self, part: _Part, ids: Int64) -> tuple[Sums | None, Int64]:
        """The cached sums of these functions; or None, and the functions to be read."""
        there = self._of.cached(OpenBlock, self._of.key(part.key), part.rows)
        if there is not None and not lacking(there, ids):
            query_budget.take(array_bytes(there.sums))
            self._room.take(there.unpacked)
            return there.sums, ids
        known = self._of.cached(KnownBlock, self._key(part.key), part.rows)
        if known is None:
            return None, ids
        every = np.union1d(known.known, ids)
        if len(every) == len(known.known):
            query_budget.take(array_bytes(known.sums))
            self._room.take(known.unpacked)
            return known.sums, ids
        return None, every if len(every) <= MOST_KNOWN else ids

    def _key(self, key: Key) -> BlockKey:
        return replace(self._of.key(key), chosen=True)

    def _read(self, parts: Sequence[tuple[_Part, Int64]]) -> Iterator[tuple[Key, Sums]]:
        """The sums of the functions given with each part."""
        cells = self._of.open([part.key for part, _ in parts], Functions.LATER)
        order, rows = in_order(cells)
        functions = {part.key: ids for part, ids in parts}
        for together in _at_once(_parts(rows), cells.unpacked.rows[order]):
            query_budget.checkpoint()
            first = together[0].place.start
            unpacked = cells.unpacked.of(order[first : together[-1].place.stop])
            ids = np.unique(np.concatenate([functions[part.key] for part in together]))
            squares = square_bytes(unpacked.rows, ids)
            query_budget.take(squares)
            self._room.take(unpacked.size + 2 * squares)
            sums = unpacked.sums(mask_of(ids)).in_units()
            for part in together:
                known = functions[part.key]
                of_part = sums.of(np.arange(part.place.start - first, part.place.stop - first))
                if len(known) < len(ids):
                    of_part = of_part.of_functions(mask_of(known))
                if self._of.keeps(part.key):
                    known_block = KnownBlock(
                        part.rows.copy(), known, of_part, unpacked.stored // len(together), unpacked.size
                    )
                    self._of.cache.put(self._key(part.key), known_block)
                yield part.key, of_part


def _at_once(parts: Sequence[_Part], functions: Int64) -> Iterator[list[_Part]]:
    """Parts that are unpacked together; `functions` is the number of functions of each cell."""
    together: list[_Part] = []
    size = 0
    for part in parts:
        more = int(functions[part.place].sum())
        if together and size + more > TOGETHER_ROWS:
            yield together
            together, size = [], 0
        together.append(part)
        size += more
    if together:
        yield together


def _parts(rows: Int64) -> list[_Part]:
    return [_Part(key, place, rows[:, place]) for key, place in keys_of(rows)]
