"""Line tables of code objects: the line of an instruction by its byte offset. Pure; a damaged table has no lines.

3.9        co_lnotab: unsigned byte increments, signed line increments (Objects/lnotab_notes.txt)
3.10       co_linetable: the same pairs, each for a range; -128: no line (PEP 626)
3.11 on    co_linetable: location entries (PEP 657, Objects/locations.md)
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_LINE: Final = 128
_MAX_LINE: Final = (1 << 31) - 1
_MAX_VARINT_BITS: Final = 36
# Of most code objects one or two lines are needed, and a scan up to there costs less than decoding a whole table. This
# many scans, so that a program that moves within a large table costs no more than decoding it.
_SCANS: Final = 4


class LineTable:
    """The lines of one code object."""

    __slots__ = ("_first_line", "_is_cut", "_lines", "_scans", "_starts", "_table", "_version")

    def __init__(
        self, version: tuple[int, int], table: bytes, first_line: int, *, is_cut: bool = False
    ) -> None:
        """`is_cut`: the end of the table is missing; instructions there have no line."""
        self._is_cut = is_cut
        self._version = version
        self._table = table
        self._first_line = first_line
        self._scans = 0
        self._starts: array[int] | None = None
        self._lines: array[int] = array("L")

    def line(self, offset: int) -> int:
        """The line of the instruction at a byte offset; 0: unknown. Before the first instruction: the first line."""
        if offset < 0:
            return _valid(self._first_line)
        if self._starts is None:
            self._scans += 1
            if self._scans <= _SCANS:
                found = 0
                for start, line in self._entries():
                    if start > offset:
                        break
                    found = line
                return _valid(found)
            self._starts = array("L")
            for start, line in self._entries():
                self._starts.append(start)
                self._lines.append(_valid(line))
        at = bisect_right(self._starts, offset) - 1
        return self._lines[at] if at >= 0 else 0

    def _entries(self) -> Iterator[tuple[int, int]]:
        """Offset and line of each entry in order, of those at one offset the last one counting; 0: no line."""
        if self._version == (3, 9):
            return _notab(self._table, self._first_line, is_cut=self._is_cut)
        if self._version == (3, 10):
            return _pairs(self._table, self._first_line)
        return _locations(self._table, self._first_line)


def _valid(line: int) -> int:
    return line if 0 < line <= _MAX_LINE else 0


def _signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def _notab(table: bytes, line: int, *, is_cut: bool) -> Iterator[tuple[int, int]]:
    yield 0, line
    start = 0
    for at in range(0, len(table) - 1, 2):
        start += table[at]
        line += _signed(table[at + 1])
        yield start, line
    if is_cut:
        yield start + 1, 0


def _pairs(table: bytes, line: int) -> Iterator[tuple[int, int]]:
    start = 0
    for at in range(0, len(table) - 1, 2):
        forward = table[at + 1]
        if forward != _NO_LINE:
            line += _signed(forward)
        if table[at]:
            yield start, 0 if forward == _NO_LINE else line
            start += table[at]
    yield start, 0


def _locations(table: bytes, line: int) -> Iterator[tuple[int, int]]:
    start = at = 0
    end = len(table)
    shown = 0
    while at < end:
        first = table[at]
        kind = first >> 3 & 15
        if kind < 10:  # on the same line, with columns in one byte
            at += 2
        elif kind < 13:
            line += kind - 10
            at += 3
        elif kind == 15:
            at += 1
        else:  # with and without columns
            forward, at = _varint(table, at + 1)
            line += -(forward >> 1) if forward & 1 else forward >> 1
            for _ in range(3 if kind == 14 else 0):
                _, at = _varint(table, at)
        if at > end:
            break
        now = 0 if kind == 15 else line
        if now != shown:
            yield start, now
            shown = now
        start += ((first & 7) + 1) << 1
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
