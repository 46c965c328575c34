"""The cells of hours and days as blocks: cached, or read and decoded."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Bool, Float, Int64
from storage.query.cells import block_source
from storage.query.cells.block_source import (
    OPEN,
    Arranged,
    BlockSource,
    Key,
    PeakReservation,
    in_parts,
    mask_of,
    open_cells,
    square_bytes,
)
from storage.query.cells.blocks import Entries, FunctionSums, OpenBlock, lacking, open_block
from storage.rollup import moments
from storage.rollup.cubes import DAY, HOUR
from storage.rollup.moments import Sums
from storage.rollup.read_cells import Cells, Functions
from storage.rollup.time_cover import Cover
from storage.rollup.unpacked_moments import Unpacked
from storage.snapshots import query_budget
from storage.snapshots.decoded_cache import array_bytes

_HELD_BYTES = 256 << 20
"""Limit of data unpacked for sums that is held for squares; the rest is unpacked twice."""
_AT_ONCE = 1_000_000
"""Functions of cells, or (function, visit) pairs, unpacked at a time, unless a single cell has more."""


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Cells that were read for this query."""

    cells: Cells
    arranged: Arranged
    held: dict[Key, Unpacked]
    """The unpacked moments of some blocks."""

    def of(self, key: Key) -> Unpacked:
        """The cells of a block."""
        return self.held.get(key) or self.cells.unpacked.of(self.arranged.cells(key))


class OpenBlocks:
    """The cells of hours and days, sorted by key."""

    def __init__(self, of: BlockSource, cover: Cover) -> None:
        """Read the blocks that are not cached. Raises `CorruptCell`, `TooMuch`, `BudgetExceeded`."""
        self._of = of
        self._room = PeakReservation()
        self._fresh: _Fresh | None = None
        keys = [*((HOUR, hour) for hour in cover.hours), *((DAY, day) for day in cover.days)]
        self._held = 0
        blocks = of.still_cached(OpenBlock, keys, of.open)
        for block in blocks.values():
            self._room.take(block.unpacked + block_source.ENTRY_BYTES * len(block.spread.cell))
            query_budget.take(array_bytes(block))
            self._hold(block.unpacked)
        blocks |= self._read([key for key in keys if key not in blocks])
        self._blocks = {key: blocks[key] for key in sorted(blocks)}

    @property
    def cells(self) -> Cells:
        """The rows, and moments without functions."""
        blocks = self._blocks.values()
        rows = np.concatenate([np.zeros((len(OPEN), 0), np.int64), *(b.rows for b in blocks)], axis=1)
        return open_cells(rows, moments.concatenated([moments.empty(0), *(block.heads for block in blocks)]))

    def amounts(self, weight: Float) -> Iterator[FunctionSums]:
        """The sums by function of each block; `weight` is that of each cell."""
        first = 0
        for block in self._blocks.values():
            last = first + block.rows.shape[1]
            yield block.amounts(weight[first:last])
            first = last

    def of_functions(self, wanted: Bool) -> Sums:
        """The sums of all cells for the wanted functions, in units. Raises `CorruptCell`, `BudgetExceeded`."""
        ids = np.flatnonzero(wanted)
        short = {key: block for key, block in self._blocks.items() if lacking(block, ids)}
        for key, unpacked in self._unpacked(short):
            self._learn(key, unpacked, ids)
        parts = [block.sums.of_functions(wanted) for block in self._blocks.values()]
        return moments.concatenated([moments.empty(0), *parts])

    def _unpacked(self, blocks: dict[Key, OpenBlock]) -> Iterator[tuple[Key, Unpacked]]:
        """The stored moments of these blocks, read again if they are not in memory."""
        fresh = self._fresh
        held = {} if fresh is None else {key: blocks[key] for key in blocks if key in fresh.arranged.places}
        if fresh is not None:
            for key in held:
                yield key, fresh.of(key)
        for part in in_parts({key: block for key, block in blocks.items() if key not in held}):
            cells = self._of.open(part, Functions.LATER)
            arranged = self._of.arranged(cells)
            for key in arranged.places:
                yield key, cells.unpacked.of(arranged.cells(key))

    def _learn(self, key: Key, unpacked: Unpacked, ids: Int64) -> None:
        """Decode the squares of these functions into a block."""
        block = self._blocks[key]
        known, keep = self._of.to_know(key, block, ids)
        squares = square_bytes(unpacked.rows, known)
        query_budget.take(squares)
        self._room.take(unpacked.size + 2 * squares)
        sums = unpacked.sums(mask_of(known)).in_units()
        self._blocks[key] = replace(block, known=known, sums=sums)
        if keep:
            self._keep(key, self._blocks[key])

    def _hold(self, size: int) -> bool:
        """Whether `size` more bytes may be held for squares.

        A cached block is charged alike, though nothing is held for it.
        """
        if self._held + size > _HELD_BYTES:
            return False
        query_budget.take(size)
        self._held += size
        return True

    def _keep(self, key: Key, block: OpenBlock) -> None:
        if self._of.keeps(key):
            self._of.cache.put(self._of.key(key), block)

    def _read(self, keys: list[Key]) -> dict[Key, OpenBlock]:
        if not keys:
            return {}
        cells = self._of.open(keys, Functions.LATER)
        arranged = self._of.arranged(cells)
        fresh = self._fresh = _Fresh(cells, arranged, {})
        heads = (cells.moments or moments.empty(0)).of(arranged.order)
        blocks = {}
        for key, place in arranged.places.items():
            unpacked = fresh.of(key)
            size = unpacked.size
            entries = _entries(unpacked, self._room)
            heads_here = heads.of(np.arange(place.start, place.stop))
            block = open_block(
                arranged.rows[:, place].copy(), heads_here, entries, stored=unpacked.stored, unpacked=size
            )
            query_budget.take(array_bytes(block))
            blocks[key] = block
            self._keep(key, block)
            if self._hold(size):
                fresh.held[key] = unpacked
        return blocks


def _entries(unpacked: Unpacked, room: PeakReservation) -> Entries:
    """The amounts of functions in the cells, unordered.

    Reserves memory for them, and for building a block from them, beforehand.
    """
    nothing = np.zeros(0, np.int64)
    parts = [Entries(nothing, nothing, nothing, nothing)]
    rows = int(unpacked.rows.sum())
    at_once = min(max(_AT_ONCE, int(unpacked.rows.max(initial=0))), rows)
    room.take(unpacked.size + block_source.ENTRY_BYTES * at_once)
    added_up = 0
    for part in unpacked.amounts():
        query_budget.checkpoint()
        divisor = np.repeat(part.divisor, part.rows)
        cell = np.repeat(part.cell, part.rows)
        entries = Entries(cell, part.function, part.own * divisor, part.total * divisor)
        if rows > at_once:
            # A listed cell has a function once per visit; each cell is in one part only.
            entries = entries.by_function()
        parts.append(entries)
        added_up += len(entries.cell)
        room.take(unpacked.size + block_source.ENTRY_BYTES * min(at_once + added_up, rows))
    return Entries(*(np.concatenate([getattr(p, name) for p in parts]) for name in Entries.__slots__))
