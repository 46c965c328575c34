"""Finds the line of a perf map that names an address: the last one written that covers it.

A map has lines `START SIZE NAME` in hexadecimal, unordered, and grows as its program compiles
(tools/perf/Documentation/jit-interface.txt of Linux). Runtimes reuse freed ranges, so ranges overlap and the newest
line wins.

Sans I/O. Lines become ranges without overlap, each with its line, so that bisection finds an address whatever the map
contains; a line adds at most two ranges. Per line it takes at most 47 bytes, whatever its range, and some 2 µs; names
stay in the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# A larger function is invalid (V8 allows 128 MiB of code in all, by default).
MAX_SIZE: Final = 128 << 20
# The longest name of a line in bytes; a longer one is cut off.
MAX_NAME: Final = 1000
# A longer line is invalid.
_MAX_LINE: Final = 16 << 10
_HIGHEST: Final = (1 << 64) - 1
_NOBODY: Final = -1


class _Layer:
    """Lines from `first` up to the next layer's: `owners[i]` names addresses from `bounds[i]` to the next bound."""

    __slots__ = ("bounds", "first", "owners")

    def __init__(self, first: int) -> None:
        self.first = first
        self.bounds = array("Q")
        self.owners = array("i")


class Entries:
    """The lines of one map. At most `limit` are kept; `full`: there were more.

    `steps` counts down the remaining work, about 1 µs each: one for each line read, valid or not, and one each time a
    line is sorted. At 0 the rest of the map is skipped, which sets `full` too.
    """

    __slots__ = (
        "_indexed",
        "_layers",
        "_lines",
        "_sizes",
        "_starts",
        "_tail",
        "full",
        "limit",
        "position",
        "steps",
    )

    def __init__(self, *, limit: int, steps: int = 1 << 62, position: int = 0) -> None:
        """Expect the file from byte `position` on; if that is not 0, the rest of the line there is skipped."""
        self.limit = limit
        self.steps = steps
        self.full = False
        self.position = position
        # The bytes of an incomplete line; None: skip up to the next line end.
        self._tail: bytes | None = None if position else b""
        self._starts = array("Q")
        self._sizes = array("I")
        self._lines = array("Q")
        self._layers: list[_Layer] = []
        self._indexed = 0

    def __len__(self) -> int:
        return len(self._starts)

    def ranges(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges (start, end) of the entries from `first` on, in the order of the file."""
        for entry in range(first, len(self._starts)):
            yield self._starts[entry], self._starts[entry] + self._sizes[entry]

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the file; `index` makes them visible to `find`. Malformed lines are skipped."""
        at = self.position
        self.position += len(data)
        if self._tail is None:
            first = data.find(b"\n") + 1
            if not first:
                return
            at += first
            data = data[first:]
        else:
            at -= len(self._tail)
            data = self._tail + data
        lines = data.split(b"\n")
        rest = lines.pop()
        self._tail = rest if len(rest) <= _MAX_LINE else None
        if len(lines) > self.steps:
            self.full = True
            del lines[max(self.steps, 0) :]
        self.steps -= len(lines)
        for line in lines:
            entry = _parse(line)
            if entry is not None:
                if len(self._starts) >= self.limit:
                    self.full = True
                    break
                self._starts.append(entry[0])
                self._sizes.append(entry[1])
                self._lines.append(at)
            at += len(line) + 1

    def index(self) -> None:
        """Index the lines that `feed` has added.

        They form a new layer over the previous ones. A layer is merged with the previous one once it is as large, so
        that there are few layers, and a line is moved rarely.
        """
        first, end = self._indexed, len(self._starts)
        if first == end:
            return
        self._indexed = end
        layers = self._layers
        while layers and end - first >= first - layers[-1].first and end - layers[-1].first <= self.steps:
            first = layers.pop().first
        if end - first > self.steps:
            self.full = True
            return
        self.steps -= end - first
        layers.append(self._layer(first, end))

    def find(self, address: int) -> int | None:
        """Return the file position of the line that names an address; None: no line does."""
        for layer in reversed(self._layers):
            place = bisect_right(layer.bounds, address) - 1
            if place >= 0 and (owner := layer.owners[place]) != _NOBODY:
                return self._lines[owner]
        return None

    def _layer(self, first: int, end: int) -> _Layer:
        """Sweep the lines from `first` up to `end` by address; the last line that covers an address owns it."""
        starts, sizes = self._starts, self._sizes
        layer = _Layer(first)
        bounds, owners = layer.bounds, layer.owners
        covering: list[
            int
        ] = []  # a heap, the last line first; ended ranges are dropped when they reach the top
        at = 0
        owner = _NOBODY
        for entry in (*sorted(range(first, end), key=starts.__getitem__), _NOBODY):
            until = _HIGHEST if entry == _NOBODY else starts[entry]
            while at < until:
                while covering and starts[-covering[0]] + sizes[-covering[0]] <= at:
                    heappop(covering)
                now = -covering[0] if covering else _NOBODY
                if now != owner:
                    bounds.append(at)
                    owners.append(now)
                    owner = now
                at = min(until, starts[now] + sizes[now]) if covering else until
            heappush(covering, -entry)
        return layer


def name_in(line: bytes, address: int) -> str:
    """Return the name that a line gives an address; empty: it names another address, or is not a line any more.

    Undecodable bytes and control characters, which no function's name has, are replaced.
    """
    entry = _parse(line.partition(b"\n")[0])
    if entry is None or not 0 <= address - entry[0] < entry[1]:
        return ""
    text = entry[2][:MAX_NAME].decode("utf-8", "replace").strip()
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    )


def _parse(line: bytes) -> tuple[int, int, bytes] | None:
    """Start, size and name of a line; None: malformed. JDK's `Compiler.perfmap` writes 0x before both numbers."""
    try:
        first, second, name = line.split(None, 2)
        start, size = int(first, 16), int(second, 16)
    except ValueError:
        return None
    if 0 < size <= MAX_SIZE and 0 <= start <= _HIGHEST - size:
        return start, size, name
    return None
