"""Which line of a perf map names an address: the last one written that covers it.

A map is lines `START SIZE NAME` in hexadecimal, without order, and grows as its program compiles
(tools/perf/Documentation/jit-interface.txt of Linux). Runtimes give freed ranges to other functions, so
ranges overlap and the newest line counts.

Sans I/O. What was read is turned into ranges that do not overlap, each with the line that names it, so that
an address is found by bisection whatever the map says, and a line never makes more than two of them. Per line
at most 47 bytes are kept, whatever range it covers, and some 2 µs spent; names stay in the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# A function of more code than this is no function (V8 allows 128 MiB of code in all, by default).
MAX_SIZE: Final = 128 << 20
# The largest name that a line may bring; its end is cut off. Bytes.
MAX_NAME: Final = 1000
# What does not end within so many bytes is no line of a map.
_MAX_LINE: Final = 16 << 10
_HIGHEST: Final = (1 << 64) - 1
_NOBODY: Final = -1


class _Layer:
    """Lines from the `first` on, up to the next layer's: from `bounds[i]` to the next bound `owners[i]` names."""

    __slots__ = ("bounds", "first", "owners")

    def __init__(self, first: int) -> None:
        self.first = first
        self.bounds = array("Q")
        self.owners = array("i")


class Entries:
    """The lines of one map. `limit` of them at most are kept; `full` says that there were more.

    `steps` counts down what may still be spent, about 1 µs each: one for a line that is read, whatever its
    form, one each time that a line is put in order. At 0 the rest of the map is left out, which is `full` too.
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
        """Expect the file from byte `position` on; if that is not 0, the line it lies in is passed over."""
        self.limit = limit
        self.steps = steps
        self.full = False
        self.position = position
        # Bytes read of a line whose end was not; None: what comes up to the next end is to be passed over.
        self._tail: bytes | None = None if position else b""
        self._starts = array("Q")
        self._sizes = array("I")
        self._lines = array("Q")
        self._layers: list[_Layer] = []
        self._indexed = 0

    def __len__(self) -> int:
        return len(self._starts)

    def ranges(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield what the entries from the `first` on cover, as (start, end), in the order of the file."""
        for entry in range(first, len(self._starts)):
            yield self._starts[entry], self._starts[entry] + self._sizes[entry]

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the file; `index` makes them count. A line out of form is passed over."""
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
        """Put what was taken in in order, so that `find` knows it.

        That is a layer of its own over those before. A layer is put in order together with the one before it
        once it is as large, so that there are few, and a line seldom moves.
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
        """Return the byte of the file at which the line begins that names an address; None: no line does."""
        for layer in reversed(self._layers):
            place = bisect_right(layer.bounds, address) - 1
            if place >= 0 and (owner := layer.owners[place]) != _NOBODY:
                return self._lines[owner]
        return None

    def _layer(self, first: int, end: int) -> _Layer:
        """Sweep the lines from `first` up to `end` by address; of those that cover one the last is its owner."""
        starts, sizes = self._starts, self._sizes
        layer = _Layer(first)
        bounds, owners = layer.bounds, layer.owners
        covering: list[
            int
        ] = []  # a heap, the last line foremost; those that ended are dropped when they come up
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
    """Return the name that a line gives an address; empty: it names another, or is none any more.

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
    """Start, size and name of a line; None: it is out of form. JDK's `Compiler.perfmap` writes 0x before both."""
    try:
        first, second, name = line.split(None, 2)
        start, size = int(first, 16), int(second, 16)
    except ValueError:
        return None
    if 0 < size <= MAX_SIZE and 0 <= start <= _HIGHEST - size:
        return start, size, name
    return None
