"""The cells of buckets of closed days as blocks: cached, or read and decoded."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Bool, Int64
from storage.query.cells.block_source import (
    CLOSED,
    Arranged,
    BlockSource,
    Key,
    PeakReservation,
    in_parts,
    mask_of,
    square_bytes,
)
from storage.query.cells.blocks import ClosedBlock, FunctionSums, closed_block, lacking
from storage.rollup import long_moments
from storage.rollup.long_moments import Parts
from storage.rollup.long_moments_codec import WeightedMoments
from storage.rollup.read_cells import Functions, WeightedCells
from storage.rollup.time_cover import Cover
from storage.snapshots import query_budget


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Cells that were read for this query."""

    cells: WeightedCells
    arranged: Arranged


class ClosedBlocks:
    """The cells of buckets of days, sorted by key."""

    def __init__(self, of: BlockSource, cover: Cover) -> None:
        """Read the blocks that are not cached. Raises `CorruptCell`, `TooMuch`, `BudgetExceeded`."""
        self._of = of
        self._room = PeakReservation()
        self._fresh: _Fresh | None = None
        keys = list(cover.weighted)
        blocks = of.still_cached(ClosedBlock, keys, of.closed)
        for block in blocks.values():
            query_budget.take(block.unpacked // 2)
            self._room.take(block.unpacked - block.unpacked // 2)
        blocks |= self._read([key for key in keys if key not in blocks])
        self._blocks = {key: blocks[key] for key in sorted(blocks)}

    @property
    def cells(self) -> WeightedCells:
        """The rows, and moments without functions."""
        nothing, no_doubles = np.zeros(0, np.int64), np.zeros(0)
        blocks = self._blocks.values()
        rows = np.concatenate([np.zeros((len(CLOSED), 0), np.int64), *(b.rows for b in blocks)], axis=1)
        *columns, weighted_total = rows
        return WeightedCells(
            **dict(zip(CLOSED[:-1], columns, strict=True)),
            weighted_total=weighted_total.view(np.float64),
            facts=np.zeros(rows.shape[1], np.int64),
            stack=nothing,
            units=nothing,
            weighted=no_doubles,
            moments=long_moments.concatenated([long_moments.NO_PARTS, *(block.heads for block in blocks)]),
            unpacked=WeightedMoments(()),
        )

    def amounts(self) -> Iterator[FunctionSums]:
        """The sums by function of each block."""
        for block in self._blocks.values():
            yield block.sums

    def of_functions(self, wanted: Bool) -> Parts:
        """The parts of all cells for the wanted functions, by id. Raises `CorruptCell`, `BudgetExceeded`."""
        ids = np.flatnonzero(wanted)
        short = {key: block for key, block in self._blocks.items() if lacking(block, ids)}
        for key, unpacked in self._unpacked(short):
            self._learn(key, unpacked, ids)
        found = [block.parts.of_functions(wanted) for block in self._blocks.values()]
        return long_moments.concatenated([long_moments.NO_PARTS, *found])

    def _unpacked(self, blocks: dict[Key, ClosedBlock]) -> Iterator[tuple[Key, WeightedMoments]]:
        """The stored moments of these blocks, read again if they are not in memory."""
        fresh = self._fresh
        held = {} if fresh is None else {key: blocks[key] for key in blocks if key in fresh.arranged.places}
        if fresh is not None:
            for key in held:
                yield key, fresh.cells.unpacked.of(fresh.arranged.cells(key))
        for part in in_parts({key: block for key, block in blocks.items() if key not in held}):
            cells = self._of.closed(part, Functions.LATER)
            arranged = self._of.arranged(cells)
            for key in arranged.places:
                yield key, cells.unpacked.of(arranged.cells(key))

    def _learn(self, key: Key, unpacked: WeightedMoments, ids: Int64) -> None:
        """Decode the squares of these functions into a block."""
        block = self._blocks[key]
        known, keep = self._of.to_know(key, block, ids)
        squares = square_bytes(unpacked.rows, known)
        query_budget.take(squares)
        self._room.take(unpacked.whole_size + 2 * squares)
        self._blocks[key] = replace(block, known=known, parts=unpacked.parts(mask_of(known)))
        if keep:
            self._of.cache.put(self._of.key(key), self._blocks[key])

    def _read(self, keys: list[Key]) -> dict[Key, ClosedBlock]:
        if not keys:
            return {}
        cells = self._of.closed(keys, Functions.LATER)
        arranged = self._of.arranged(cells)
        self._fresh = _Fresh(cells, arranged)
        heads = (cells.moments or long_moments.NO_PARTS).of(arranged.order)
        blocks = {}
        for key, place in arranged.places.items():
            unpacked = cells.unpacked.of(arranged.cells(key))
            query_budget.take(unpacked.size // 2)
            self._room.take(unpacked.size - unpacked.size // 2)
            blocks[key] = closed_block(
                arranged.rows[:, place].copy(),
                heads.of(np.arange(place.start, place.stop)),
                unpacked.amounts(),
                stored=unpacked.stored,
                unpacked=unpacked.size,
            )
            self._of.cache.put(self._of.key(key), blocks[key])
        return blocks
