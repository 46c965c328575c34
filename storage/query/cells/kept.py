"""Blocks of cells that are kept between questions: what is closed is asked about again and again, and does not change.

A block is found by what its cells are of and counts as long as their rows are those it was read from; whoever asks has read
their versions in the question's own snapshot, so an answer is as fresh as without.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from storage.query.arrays import Int64
from storage.query.cache_size import CacheSize, array_bytes
from storage.query.cells.blocks import ClosedBlock, OpenBlock
from storage.query.cells.known_block import KnownBlock
from storage.rolling.cubes import Source

KEPT_BYTES = 256 << 20
"""Room for them, if nobody says how much."""
_LARGEST_PART = 4
"""A block that is more than this part of all there is room for is not kept."""

_Block = TypeVar("_Block", OpenBlock, ClosedBlock, KnownBlock)


@dataclass(frozen=True, slots=True)
class BlockKey:
    """Which cells a block has: those of a bucket, of all keys or of some."""

    source: Source
    k1: tuple[int, ...] | None
    level: int
    bucket: int
    chosen: bool = False
    """It has a few functions alone."""


class KeptBlocks:
    """Blocks by key, those used longest ago given up first. Safe to share between threads."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes, about."""
        self._limit = limit
        self._lock = threading.Lock()
        self._blocks: OrderedDict[BlockKey, tuple[OpenBlock | ClosedBlock | KnownBlock, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Blocks, and what their arrays take."""
        with self._lock:
            return CacheSize(len(self._blocks), self._bytes)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._blocks.clear()
            self._bytes = 0

    def has(self, key: BlockKey) -> bool:
        """Whether there is one, of whatever rows."""
        return key in self._blocks

    def get(self, kind: type[_Block], key: BlockKey, rows: Int64) -> _Block | None:
        """The block, if it is of these rows."""
        with self._lock:
            block, _ = self._blocks.get(key, (None, 0))
            if not isinstance(block, kind) or not np.array_equal(block.rows, rows):
                return None
            self._blocks.move_to_end(key)
            return block

    def put(self, key: BlockKey, block: OpenBlock | ClosedBlock | KnownBlock) -> None:
        """Keep a block instead of the one that there was.

        One that is too large for that leaves one of the same rows where it is.
        """
        size = array_bytes(block)
        with self._lock:
            there, before = self._blocks.get(key, (None, 0))
            too_large = size > self._limit // _LARGEST_PART
            if too_large and there is not None and np.array_equal(there.rows, block.rows):
                return
            self._blocks.pop(key, None)
            self._bytes -= before
            if too_large:
                return
            self._blocks[key] = block, size
            self._bytes += size
            while self._bytes > self._limit:
                _, (_, gone) = self._blocks.popitem(last=False)
                self._bytes -= gone
