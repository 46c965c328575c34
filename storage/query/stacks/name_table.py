"""The names of many functions as arrays and two texts, mapped from a file; only names in answers are decoded."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Int32, Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status

Bytes = npt.NDArray[np.uint8]
_END = b"\0"
_TOGETHER = 1000
"""Texts decoded at a time."""
_SCATTERED = 4
"""Texts per requested one in a piece: up to so many, decoding the whole piece at once is faster."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Numbered texts without NUL, concatenated, each followed by a NUL."""

    end: Int64
    """By number, where the next text begins."""
    data: Bytes

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """These texts, numbered from 0."""
        encoded = [text.encode() + _END for text in texts]
        data = np.frombuffer(b"".join(encoded), np.uint8)
        return cls(np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded))), data)

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, number: int) -> str:
        """The text with that number; raises IndexError."""
        return self._bytes(number).decode()

    def some(self, numbers: Int64) -> Iterator[str]:
        """Texts of ascending numbers, in their order."""
        for low in range(0, len(numbers), _TOGETHER):
            piece = numbers[low : low + _TOGETHER]
            first, last = int(piece[0]), int(piece[-1])
            if last - first >= _SCATTERED * len(piece):
                yield from map(self.__getitem__, piece.tolist())
            else:
                found = self.data[self._start(first) : int(self.end[last])].tobytes().decode().split("\0")
                yield from map(found.__getitem__, (piece - first).tolist())

    def number(self, text: str) -> int:
        """The number of a text, if texts ascend as bytes; -1: it is not among them."""
        wanted = text.encode()
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else -1

    def _start(self, number: int) -> int:
        return int(self.end[number - 1]) if number else 0

    def _bytes(self, number: int) -> bytes:
        return self.data[self._start(number) : int(self.end[number]) - 1].tobytes()


@dataclass(frozen=True, slots=True)
class Names:
    """Functions by id, including 0 (the root, a marker) and ids without a function."""

    canonical: Int32
    """The function that readers used in its place when this was built; 0: no function here has the id."""
    keyed: Bool
    """The function was ingested without a name."""
    status: npt.NDArray[np.uint8]
    kind: npt.NDArray[np.uint8]
    file: Int32
    """Number of the function's file in `texts`."""
    binary: Int32
    name: Texts
    """By id."""
    texts: Texts
    """Files and binaries, ascending as bytes; the first is empty."""


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function's row for `names_of`."""

    name: str
    file: str
    binary: str
    status: int
    kind: int
    keyed: bool
    canonical: int


def names_of(functions: Mapping[int, NamedFunction]) -> Names:
    """The names of these functions, among which must be those that readers use in place of others."""
    size = max(functions, default=0) + 1
    canonical, file, binary = (np.zeros(size, np.int32) for _ in range(3))
    status, kind, keyed = np.zeros(size, np.uint8), np.zeros(size, np.uint8), np.zeros(size, np.bool_)
    texts = sorted(
        {"", *(f.file for f in functions.values()), *(f.binary for f in functions.values())}, key=str.encode
    )
    number = {text: place for place, text in enumerate(texts)}
    status[0], kind[0] = Status.FULL, Kind.MARKER
    names = [""] * size
    for id_, row in functions.items():
        canonical[id_], file[id_], binary[id_] = row.canonical, number[row.file], number[row.binary]
        status[id_], kind[id_], keyed[id_] = row.status, row.kind, row.keyed
        names[id_] = row.name
    return Names(canonical, keyed, status, kind, file, binary, Texts.of(names), Texts.of(texts))
