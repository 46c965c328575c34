"""The cells of hours and days as blocks: those that are kept already, and the others read and decoded."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from storage.query import budget
from storage.query.arrays import Bool, Float, Int64, sorting
from storage.query.cells import block_source
from storage.query.cells.block_source import (
    OPEN,
    Arranged,
    BlockSource,
    Key,
    Places,
    hottest,
    known_after,
    mask_of,
)
from storage.query.cells.blocks import Entries, OpenBlock, lacking, open_block
from storage.query.cells.function_sums import FunctionSums
from storage.rolling import moments
from storage.rolling.cover import Cover
from storage.rolling.cubes import DAY, HOUR
from storage.rolling.moments import Sums
from storage.rolling.moments_codec import Unpacked
from storage.rolling.reading import Cells, Functions


@dataclass(frozen=True, slots=True)
class _Fresh:
    """Cells that were read for this answer."""

    cells: Cells
    arranged: Arranged
    hot: Int64


class OpenBlocks:
    """The cells of hours and days, in the order of their keys."""

    def __init__(self, of: BlockSource, cover: Cover) -> None:
        """Reads what is not kept. Raises `CorruptCell`, `TooMuch`, `BudgetExceeded`."""
        self._of = of
        self._fresh: _Fresh | None = None
        keys = [*((HOUR, hour) for hour in cover.hours), *((DAY, day) for day in cover.days)]
        blocks = self._kept(keys)
        blocks |= self._read([key for key in keys if key not in blocks])
        self._blocks = {key: blocks[key] for key in sorted(blocks)}

    @property
    def cells(self) -> Cells:
        """Their rows, and their moments without functions."""
        nothing = np.zeros(0, np.int64)
        blocks = self._blocks.values()
        rows = np.concatenate([np.zeros((len(OPEN), 0), np.int64), *(b.rows for b in blocks)], axis=1)
        columns = dict(zip(OPEN, rows, strict=True))
        heads = moments.concatenated([moments.empty(0), *(block.heads for block in blocks)])
        return Cells(
            **columns,
            facts=np.zeros(rows.shape[1], np.int64),
            stack=nothing,
            units=nothing,
            moments=heads,
            unpacked=Unpacked(()),
        )

    def amounts(self, weight: Float) -> Iterator[FunctionSums]:
        """What the functions of each block have; `weight` is that of each cell."""
        first = 0
        for block in self._blocks.values():
            last = first + block.rows.shape[1]
            yield block.amounts(weight[first:last])
            first = last

    def of_functions(self, wanted: Bool) -> Sums:
        """The sums of all cells with those functions that are wanted by id, in units. Raises `CorruptCell`, `TooMuch`."""
        ids = np.flatnonzero(wanted)
        short = {key for key, block in self._blocks.items() if lacking(block, ids)}
        fresh = self._fresh
        if fresh is not None and not short.isdisjoint(fresh.arranged.places):
            self._learn(fresh.cells, fresh.arranged, short, np.union1d(fresh.hot, ids))
            short.difference_update(fresh.arranged.places)
        if short:
            cells = self._of.open(sorted(short), Functions.LATER)
            self._learn(cells, self._of.arranged(cells), short, ids)
        parts = [block.sums.of_functions(wanted) for block in self._blocks.values()]
        return moments.concatenated([moments.empty(0), *parts])

    def _learn(self, cells: Cells, arranged: Arranged, short: set[Key], wanted: Int64) -> None:
        """Have what these cells say of functions in their blocks."""
        places = {key: place for key, place in arranged.places.items() if key in short}
        known = known_after([self._blocks[key].known for key in places], wanted)
        sums = cells.unpacked.sums(mask_of(known)).in_units().of(arranged.order)
        for key, place in places.items():
            of_block = sums.of(np.arange(place.start, place.stop))
            self._blocks[key] = replace(self._blocks[key], known=known, sums=of_block)
            self._keep(key, self._blocks[key])

    def _keep(self, key: Key, block: OpenBlock) -> None:
        if self._of.keeps(key):
            self._of.kept.put(self._of.key(key), block)

    def _kept(self, keys: list[Key]) -> dict[Key, OpenBlock]:
        """Those of the blocks that are kept and whose rows are still the same."""
        there = [key for key in keys if self._of.kept.has(self._of.key(key))]
        if not there:
            return {}
        now = self._of.arranged(self._of.open(there, Functions.NONE))
        found = {
            key: self._of.kept.get(OpenBlock, self._of.key(key), now.rows[:, place])
            for key, place in now.places.items()
        }
        return {key: block for key, block in found.items() if block is not None}

    def _read(self, keys: list[Key]) -> dict[Key, OpenBlock]:
        if not keys:
            return {}
        cells = self._of.open(keys, Functions.LATER)
        arranged = self._of.arranged(cells)
        budget.take(cells.unpacked.size)
        entries = _entries(cells)
        budget.take(block_source.ENTRY_BYTES * len(entries.cell))
        hot = entries.function[:0]
        if any(map(self._of.keeps, arranged.places)):
            hot = hottest(entries.function, entries.own, entries.total)
        self._fresh = _Fresh(cells, arranged, hot)
        heads = (cells.moments or moments.empty(0)).of(arranged.order)
        blocks = {}
        parts = _split(entries, arranged.rank, arranged.places)
        for (key, place), part in zip(arranged.places.items(), parts, strict=True):
            budget.checkpoint()
            heads_here = heads.of(np.arange(place.start, place.stop))
            blocks[key] = open_block(arranged.rows[:, place].copy(), heads_here, part)
            self._keep(key, blocks[key])
        return blocks


def _entries(cells: Cells) -> Entries:
    """What the cells have of functions, in no order."""
    nothing = np.zeros(0, np.int64)
    parts = [Entries(nothing, nothing, nothing, nothing)]
    for part in cells.amounts():
        budget.checkpoint()
        divisor = np.repeat(part.divisor, part.rows)
        cell = np.repeat(part.cell, part.rows)
        parts.append(Entries(cell, part.function, part.own * divisor, part.total * divisor))
    return Entries(*(np.concatenate([getattr(p, name) for p in parts]) for name in Entries.__slots__))


def _split(entries: Entries, rank: Int64, places: Places) -> Iterator[Entries]:
    """The entries of each block, with its cells counted from 0."""
    starts = [place.start for place in places.values()]
    cell = rank[entries.cell]
    block = np.searchsorted(np.array(starts, np.int64), cell, side="right") - 1
    order = sorting(block)
    bounds = np.searchsorted(block[order], np.arange(len(starts) + 1)).tolist()
    for number, first in enumerate(starts):
        here = order[bounds[number] : bounds[number + 1]]
        yield replace(entries.of(here), cell=cell[here] - first)
