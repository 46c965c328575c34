"""HotSpot's compressed streams: UNSIGNED5 numbers, line tables and scopes. Pure; the bytes may be hostile.

UNSIGNED5 has two forms: until JDK 18 a byte counts as it is (`excluded` 0), later zero is never written (`excluded` 1).
The JVM's tables do not say which; a scope does, because the outermost method of compiled code is known.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.hotspot.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMS: Final = (0, 1)
"""Values of `excluded`."""
_HIGH_BITS: Final = 6
_HIGH: Final = 1 << _HIGH_BITS
_MAX_BYTES: Final = 5
_U4: Final = 0xFFFFFFFF
# MaxInlineLevel is 15 by default; the compilers' own limits are below this.
MAX_SCOPES: Final = 128
_MAX_LINES: Final = 65_536
_LINE_ESCAPE: Final = 0xFF
_MAX_LINE: Final = 0xFFFF


class Scope(NamedTuple):
    """One source-level activation: the number of its method among the nmethod's metadata, and the bytecode index."""

    method: int
    bci: int


def read_unsigned(data: bytes, at: int, excluded: int) -> tuple[int, int]:
    """The number at `at`, and where the next one begins. Raises Damaged."""
    low = 256 - excluded - _HIGH
    total = shift = 0
    for count in range(1, _MAX_BYTES + 1):
        if not 0 <= at < len(data):
            break
        digit = data[at] - excluded
        at += 1
        if digit < 0:
            break
        total += digit << shift
        if digit < low or count == _MAX_BYTES:
            return total & _U4, at
        shift += _HIGH_BITS
    raise Damaged("a compressed number is cut off")


def read_signed(data: bytes, at: int, excluded: int) -> tuple[int, int]:
    """A number whose sign is its lowest bit. Raises Damaged."""
    value, at = read_unsigned(data, at, excluded)
    return (value >> 1) ^ -(value & 1), at


def read_scopes(data: bytes, offset: int, excluded: int) -> list[Scope]:
    """The activations at a scope, innermost first. Raises Damaged."""
    scopes = []
    for _ in range(MAX_SCOPES):
        sender, at = read_unsigned(data, offset, excluded)
        method, at = read_unsigned(data, at, excluded)
        bci, at = read_unsigned(data, at, excluded)
        scopes.append(Scope(method, bci - 1))  # InvocationEntryBci, −1, is written as 0
        if not sender:
            return scopes
        if sender >= offset:
            break  # senders are written first
        offset = sender
    raise Damaged("a chain of scopes has no end")


class LineTable:
    """The source lines of one method's bytecodes."""

    __slots__ = ("_bcis", "_lines")

    def __init__(self, table: bytes, excluded: int) -> None:
        """Decode a compressed line number table. Raises Damaged."""
        entries = sorted(_entries(table, excluded), key=itemgetter(0))
        self._bcis = [bci for bci, _ in entries]
        self._lines = [line for _, line in entries]

    def at(self, bci: int) -> int:
        """The line of a bytecode index; 0: the table has none."""
        index = bisect_right(self._bcis, bci) - 1
        return self._lines[index] if index >= 0 else 0


def _entries(table: bytes, excluded: int) -> Iterator[tuple[int, int]]:
    """Yield (first bytecode index, line) of each entry."""
    bci = line = at = 0
    for _ in range(_MAX_LINES):
        if at >= len(table) or not table[at]:
            return
        step = table[at]
        at += 1
        if step == _LINE_ESCAPE:
            more, at = read_signed(table, at, excluded)
            bci += more
            more, at = read_signed(table, at, excluded)
            line += more
        else:
            bci += step >> 3
            line += step & 7
        if not 0 <= line <= _MAX_LINE:
            raise Damaged(f"a line number table names line {line}")
        yield bci, line
    raise Damaged("a line number table has no end")
