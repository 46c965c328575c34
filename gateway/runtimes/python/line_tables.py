"""Line tables of code objects, as ranges of byte offsets. Pure; damaged tables give fewer or no ranges, never an error.

3.9        co_lnotab: unsigned byte increments, signed line increments (Objects/lnotab_notes.txt)
3.10       co_linetable: the same pairs, each for a range; -128: no line (PEP 626)
3.11 on    co_linetable: location entries (PEP 657, Objects/locations.md)
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINE: Final = -128
_MAX_LINE: Final = (1 << 31) - 1
_MAX_VARINT_BITS: Final = 36


class LineTable:
    """The lines of one code object. Decoded once, because a stack may point anywhere into it."""

    __slots__ = ("_lines", "_starts")

    def __init__(
        self, version: tuple[int, int], table: bytes, first_line: int, *, is_cut: bool = False
    ) -> None:
        """`is_cut`: the rest of the table is missing; offsets behind what there is have no line."""
        self._starts = array("L", [0])
        self._lines = array("L", [max(0, first_line)])
        decode = _notab if version == (3, 9) else _pairs if version == (3, 10) else _locations
        for start, decoded in decode(table, first_line):
            line = decoded if 0 < decoded <= _MAX_LINE else 0
            if start == self._starts[-1]:
                self._lines[-1] = line
            elif line != self._lines[-1]:
                self._starts.append(start)
                self._lines.append(line)
        if is_cut and version == (3, 9):
            self._starts.append(self._starts[-1] + 1)
            self._lines.append(0)

    def line(self, offset: int) -> int:
        """The line of the instruction at a byte offset; 0: unknown. Before the first instruction: the first line."""
        return self._lines[max(0, bisect_right(self._starts, offset) - 1)]


def _notab(table: bytes, line: int) -> Iterator[tuple[int, int]]:
    start = 0
    for bytes_forward, lines_forward in struct.iter_unpack("Bb", table[: len(table) & ~1]):
        start += bytes_forward
        line += lines_forward
        yield start, line


def _pairs(table: bytes, line: int) -> Iterator[tuple[int, int]]:
    start = 0
    for size, lines_forward in struct.iter_unpack("Bb", table[: len(table) & ~1]):
        if lines_forward != _NO_LINE:
            line += lines_forward
        if size:
            yield start, line if lines_forward != _NO_LINE else 0
        start += size
    yield start, 0


def _locations(table: bytes, line: int) -> Iterator[tuple[int, int]]:
    start = at = 0
    while at < len(table):
        first = table[at]
        at += 1
        kind = first >> 3 & 15
        if kind in {13, 14}:  # with and without columns
            forward, at = _varint(table, at)
            line += -(forward >> 1) if forward & 1 else forward >> 1
            for _ in range(3 if kind == 14 else 0):
                _, at = _varint(table, at)
        elif 10 <= kind <= 12:
            line += kind - 10
            at += 2
        elif kind < 10:
            at += 1
        if at > len(table):
            break
        yield start, 0 if kind == 15 else line
        start += 2 * ((first & 7) + 1)
    yield start, 0


def _varint(table: bytes, at: int) -> tuple[int, int]:
    """Six bits a byte, least significant first; and the position behind it, beyond the table if it is cut off."""
    value = shift = 0
    while at < len(table):
        byte = table[at]
        at += 1
        value |= (byte & 63) << shift
        shift += 6
        if not byte & 64 or shift > _MAX_VARINT_BITS:
            return value, at
    return value, len(table) + 1
