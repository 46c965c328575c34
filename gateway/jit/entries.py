"""Which line of a perf map names an address: the last one written that covers it.

A map is lines `START SIZE NAME` in hexadecimal, without order, and grows as its program compiles
(tools/perf/Documentation/jit-interface.txt of Linux). Runtimes give freed ranges to other functions, so
ranges overlap and the newest line counts.

Sans I/O. Per line some 50 bytes are kept and 1.1 µs spent; names stay in the file.
"""

from __future__ import annotations

from array import array
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
# Entries are found by the 8 KiB that they begin in and reach into: of CPython's trampolines, the smallest
# entries met, 744 fit in there.
_BUCKET_BITS: Final = 13
# One that reaches into more of them is kept apart.
_MOST_BUCKETS: Final = 64
# Of what covers one address so many are looked at; only a hostile map has more.
_MOST_TRIED: Final = 8192


class Entries:
    """The lines of one map. `limit` of them at most are kept; `full` says that there were more."""

    __slots__ = ("_buckets", "_large", "_lines", "_sizes", "_starts", "_tail", "full", "limit", "position")

    def __init__(self, *, limit: int, position: int = 0) -> None:
        """Expect the file from byte `position` on; if that is not 0, the line it lies in is passed over."""
        self.limit = limit
        self.full = False
        self.position = position
        # Bytes read of a line whose end was not; None: what comes up to the next end is to be passed over.
        self._tail: bytes | None = None if position else b""
        self._starts = array("Q")
        self._sizes = array("I")
        self._lines = array("Q")
        self._buckets: dict[int, array[int]] = {}
        self._large = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    def ranges(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield what the entries from the `first` on cover, as (start, end), in the order of the file."""
        for entry in range(first, len(self._starts)):
            yield self._starts[entry], self._starts[entry] + self._sizes[entry]

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the file. A line out of form is passed over."""
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
        for line in lines:
            entry = _parse(line)
            if entry is not None:
                if len(self._starts) >= self.limit:
                    self.full = True
                    break
                self._add(entry[0], entry[1], at)
            at += len(line) + 1

    def find(self, address: int) -> int | None:
        """Return the byte of the file at which the line begins that names an address; None: no line does."""
        found = max(
            self._newest(self._buckets.get(address >> _BUCKET_BITS), address),
            self._newest(self._large, address),
        )
        return None if found < 0 else self._lines[found]

    def _newest(self, entries: array[int] | None, address: int) -> int:
        """The last of these entries that covers an address; −1: none."""
        if entries is None:
            return -1
        starts, sizes = self._starts, self._sizes
        last = len(entries) - 1
        for place in range(last, max(last - _MOST_TRIED, -1), -1):
            entry = entries[place]
            if 0 <= address - starts[entry] < sizes[entry]:
                return entry
        return -1

    def _add(self, start: int, size: int, line: int) -> None:
        entry = len(self._starts)
        self._starts.append(start)
        self._sizes.append(size)
        self._lines.append(line)
        first, last = start >> _BUCKET_BITS, (start + size - 1) >> _BUCKET_BITS
        if last - first >= _MOST_BUCKETS:
            self._large.append(entry)
            return
        for bucket in range(first, last + 1):
            known = self._buckets.get(bucket)
            if known is None:
                known = self._buckets[bucket] = array("I")
            known.append(entry)


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
