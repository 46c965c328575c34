"""The cells of buckets of closed days as blocks: those that are kept already, and the others read and decoded."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from storage.query import budget
from storage.query.arrays import Bool, Int64
from storage.query.cells.block_source import CLOSED, Arranged, BlockSource, Key, hottest, known_after, mask_of
from storage.query.cells.blocks import ClosedBlock, closed_block, lacking
from storage.query.cells.function_sums import FunctionSums
from storage.rolling import weighted
from storage.rolling.cover import Cover
from storage.rolling.reading import Functions, WeightedCells
from storage.rolling.weighted import Parts, WeightedMoments


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Cells that were read for this answer."""

    cells: WeightedCells
    arranged: Arranged
    hot: Int64


class ClosedBlocks:
    """The cells of buckets of days, in the order of their keys."""

    def __init__(self, of: BlockSource, cover: Cover) -> None:
        """Reads what is not kept. Raises `CorruptCell`, `TooMuch`, `BudgetExceeded`."""
        self._of = of
        self._fresh: _Fresh | None = None
        keys = list(cover.weighted)
        blocks = self._kept(keys)
        blocks |= self._read([key for key in keys if key not in blocks])
        self._blocks = {key: blocks[key] for key in sorted(blocks)}

    @property
    def cells(self) -> WeightedCells:
        """Their rows, and their moments without functions."""
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
            moments=weighted.concatenated([weighted.NO_PARTS, *(block.heads for block in blocks)]),
            unpacked=WeightedMoments(()),
        )

    @property
    def counted(self) -> bool:
        """Of every cell it is known what was observed of its functions."""
        return all(block.counted for block in self._blocks.values())

    def amounts(self) -> Iterator[FunctionSums]:
        """What the functions of each block have."""
        for block in self._blocks.values():
            yield block.sums

    def of_functions(self, wanted: Bool) -> Parts:
        """The parts of all cells with those functions that are wanted by id. Raises `CorruptCell`, `TooMuch`."""
        ids = np.flatnonzero(wanted)
        short = {key for key, block in self._blocks.items() if lacking(block, ids)}
        fresh = self._fresh
        if fresh is not None and not short.isdisjoint(fresh.arranged.places):
            self._learn(fresh.cells, fresh.arranged, short, np.union1d(fresh.hot, ids))
            short.difference_update(fresh.arranged.places)
        if short:
            cells = self._of.closed(sorted(short), Functions.LATER)
            self._learn(cells, self._of.arranged(cells), short, ids)
        found = [block.parts.of_functions(wanted) for block in self._blocks.values()]
        return weighted.concatenated([weighted.NO_PARTS, *found])

    def _learn(self, cells: WeightedCells, arranged: Arranged, short: set[Key], wanted: Int64) -> None:
        """Have what these cells say of functions in their blocks."""
        places = {key: place for key, place in arranged.places.items() if key in short}
        known = known_after([self._blocks[key].known for key in places], wanted)
        parts = cells.unpacked.parts(mask_of(known)).of(arranged.order)
        for key, place in places.items():
            of_block = parts.of(np.arange(place.start, place.stop))
            self._blocks[key] = replace(self._blocks[key], known=known, parts=of_block)
            self._of.kept.put(self._of.key(key), self._blocks[key])

    def _kept(self, keys: list[Key]) -> dict[Key, ClosedBlock]:
        """Those of the blocks that are kept and whose rows are still the same."""
        there = [key for key in keys if self._of.kept.has(self._of.key(key))]
        if not there:
            return {}
        now = self._of.arranged(self._of.closed(there, Functions.NONE))
        found = {
            key: self._of.kept.get(ClosedBlock, self._of.key(key), now.rows[:, place])
            for key, place in now.places.items()
        }
        return {key: block for key, block in found.items() if block is not None}

    def _read(self, keys: list[Key]) -> dict[Key, ClosedBlock]:
        if not keys:
            return {}
        cells = self._of.closed(keys, Functions.LATER)
        arranged = self._of.arranged(cells)
        budget.take(cells.unpacked.size)
        amounts = cells.amounts()
        hot = hottest(amounts.function, amounts.own_units, amounts.total_units)
        self._fresh = _Fresh(cells, arranged, hot)
        heads = (cells.moments or weighted.NO_PARTS).of(arranged.order)
        ends = np.cumsum(cells.unpacked.rows)
        firsts = ends - cells.unpacked.rows
        blocks = {}
        for key, place in arranged.places.items():
            budget.checkpoint()
            cells_here = arranged.order[place].tolist()
            of_block = [amounts.of(slice(firsts[cell], ends[cell])) for cell in cells_here]
            blocks[key] = closed_block(
                arranged.rows[:, place].copy(),
                heads.of(np.arange(place.start, place.stop)),
                of_block,
                counted=bool(amounts.counted[cells_here].all()),
            )
            self._of.kept.put(self._of.key(key), blocks[key])
        return blocks
