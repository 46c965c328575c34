"""Combines the results of many images into one `ResolvedFrames`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from storage.ingest.symbolized import FunctionName, ResolvedFrames
from symbolizer.images.image import Named, Statuses
from symbolizer.tables.address_table import Indexes

MAX_TEXT: Final = 1 << 26
"""Characters of the names that files provide for the frames of one capture."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Calls of some frames: those of frame `positions[i]` are `depth[i]` entries of the last two."""

    positions: Indexes
    depth: Indexes
    function: Indexes
    line: Indexes


@dataclass(slots=True)
class CallTable:
    """Collects the calls of each of `frames` frames: every frame once, in any order."""

    frames: int
    _functions: dict[FunctionName, int] = field(default_factory=dict)
    _pieces: list[_Piece] = field(default_factory=list)
    _status: Statuses = field(init=False)
    _characters: int = 0

    def __post_init__(self) -> None:
        self._status = np.zeros(self.frames, np.uint8)

    def add_chains(
        self, positions: Indexes, depth: Indexes, entries: Indexes, names: Sequence[Named], status: Statuses
    ) -> None:
        """`depth[i]` of the entries, indexes into `names`, are the calls of frame `positions[i]`, innermost first.

        Raises MemoryError, and adds nothing, if all names together would exceed `MAX_TEXT` characters.
        """
        characters = sum(len(function.name) + len(function.raw_name) for function, _ in names)
        if self._characters + characters > MAX_TEXT:
            raise MemoryError(f"the names in one capture exceed {MAX_TEXT} characters")
        self._characters += characters
        numbers = np.array([self._number(function) for function, _ in names], np.int64)
        lines = np.array([line for _, line in names], np.int64)
        self._status[positions] = status
        self._pieces.append(_Piece(positions, depth, numbers[entries], lines[entries]))

    def add_single(
        self, positions: Indexes, functions: Sequence[FunctionName], lines: Sequence[int] | None = None
    ) -> None:
        """One function for each of the positions, and the line that executes in it; None: no lines are known."""
        numbers = np.array([self._number(function) for function in functions], np.int64)
        self._status[positions] = [function.status for function in functions]
        ones = np.ones(len(positions), np.int64)
        line = np.zeros(len(positions), np.int64) if lines is None else np.array(lines, np.int64)
        self._pieces.append(_Piece(positions, ones, numbers, line))

    def _number(self, function: FunctionName) -> int:
        return self._functions.setdefault(function, len(self._functions))

    def finish(self) -> ResolvedFrames:
        """All added calls, in the order of the frames."""
        depth = np.zeros(self.frames, np.int64)
        for piece in self._pieces:
            depth[piece.positions] = piece.depth
        offsets = np.append(0, np.cumsum(depth))
        function = np.empty(int(offsets[-1]), np.int32)
        line = np.empty(int(offsets[-1]), np.int32)
        for piece in self._pieces:
            target = ranges(offsets[:-1][piece.positions], piece.depth)
            function[target] = piece.function
            line[target] = np.minimum(piece.line, np.iinfo(np.int32).max)
        return ResolvedFrames(tuple(self._functions), offsets, function, line, self._status)


def ranges(starts: Indexes, lengths: Indexes) -> Indexes:
    """The numbers start, start + 1, … of every range, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)
