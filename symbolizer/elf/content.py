"""Positional reads from a file and its sections, the input of the whole package."""

from dataclasses import dataclass
from typing import Protocol

from symbolizer.errors import MalformedElf


class Source(Protocol):
    """Bytes by position; slices beyond the end are short, as with `bytes`."""

    def __len__(self) -> int: ...
    def __getitem__(self, where: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Window:
    """A section within a file; reads raise `MalformedElf` if the file cannot be read."""

    source: Source
    offset: int
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, where: slice) -> bytes:
        start, stop, _ = where.indices(self.size)
        if stop <= start:
            return b""
        try:
            return self.source[self.offset + start : self.offset + stop]
        except OSError as error:
            raise MalformedElf(f"Cannot read one of its sections: {error.strerror}.") from error
