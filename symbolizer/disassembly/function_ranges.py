"""The addresses of a function's code: by its symbols, or by the unwind table if it has no name.

A compiler may split a function: GCC moves code that rarely runs to `f.cold`. Both parts have one name in captures, so
both are its code. Local functions of several files may share a name; then those of another file are left out, as far
as debug information says which file each is from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from symbolizer.addresses import ElfVaddrs
from symbolizer.elf.file import ElfFile
from symbolizer.elf.unwind_table import end_of
from symbolizer.errors import MalformedImage
from symbolizer.images.elf_image import ElfImage

_COLD_PARTS: Final = ("", ".cold", *(f".cold.{number}" for number in range(16)))
_MOST_RANGES: Final = 64


@dataclass(frozen=True, slots=True)
class SoughtFunction:
    """A function as captures name it."""

    name: str
    """Demangled."""
    raw_name: str
    """Name in the symbol table."""
    file: str
    """Source path; '': not known."""
    start: int | None
    """Offset of its start in the binary, if it has no name."""


@dataclass(frozen=True, slots=True)
class CodeRange:
    """A half-open range of virtual addresses."""

    symbol: str
    """Name in the symbol table, or the function's name."""
    start: int
    end: int


def ranges_of(image: ElfImage, function: SoughtFunction, code: ElfFile | None) -> tuple[CodeRange, ...]:
    """The function's ranges, ascending; none if the image does not tell. Raises `MalformedImage`, IndexError.

    `code` is the image's own file, whose unwind table is used for a function without a name; None: there is none.
    """
    if function.start is not None:
        return _by_unwind_table(image, function.name, function.start, code)
    symbols = image.symbols
    found = list(chain.from_iterable(symbols.find_names(function.raw_name + part) for part in _COLD_PARTS))
    whole = [index for index in found if symbols.symbol(index).name == function.raw_name]
    if len(whole) > 1 and function.file:
        starts = symbols.starts[np.array(whole)]
        files = list(_files_of(image, ElfVaddrs(starts)))
        same = [index for index, file in zip(whole, files, strict=True) if file == function.file]
        if same:
            found = same if len(same) < len(whole) else found
    chosen = sorted(found, key=lambda index: int(symbols.starts[index]))[:_MOST_RANGES]
    ranges: list[CodeRange] = []
    for symbol in map(symbols.symbol, chosen):
        if symbol.end > symbol.start and (not ranges or symbol.start >= ranges[-1].end):
            ranges.append(CodeRange(symbol.name, symbol.start, symbol.end))
    return tuple(ranges)


def _files_of(image: ElfImage, starts: ElfVaddrs) -> Iterator[str]:
    """The source file of the function at each start; '' if it is not known."""
    _, chains = image.lookup(starts)
    for first, after in zip(chains.offsets[:-1].tolist(), chains.offsets[1:].tolist(), strict=True):
        yield image.name_of(int(chains.locations[after - 1]))[0].file if after > first else ""


def _by_unwind_table(image: ElfImage, name: str, offset: int, code: ElfFile | None) -> tuple[CodeRange, ...]:
    start = image.vaddr_of(offset)
    if start is None:
        return ()
    try:
        end = None if code is None else end_of(code, start)
    except MalformedImage:
        end = None
    return () if end is None else (CodeRange(name, start, end),)
