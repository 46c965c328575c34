"""Looks up many addresses of one binary at once: for exports, the source view and benchmarks.

Addresses are sorted and made distinct first. Names are read only for distinct frames, and only on request.
Ids are stable for one file of built symbols and mean nothing in another.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.ingest.symbolized import Status
from symbolizer.addresses import U64, ElfVaddrs, RecordedPointers
from symbolizer.builds.built_symbols import BuiltSymbols
from symbolizer.images.elf_image import ElfImage
from symbolizer.images.image import Statuses
from symbolizer.tables.address_table import Indexes


@dataclass(frozen=True, slots=True)
class Batch:
    """Chains of n addresses, of which d are distinct. Those of address i are at `inverse[i]`."""

    distinct: ElfVaddrs
    """The distinct lookup addresses, ascending."""
    inverse: Indexes
    """n indexes into the d distinct ones."""
    status: Statuses
    """`Status` of each distinct address: FULL, SYMTAB, or BINARY_ONLY outside all functions."""
    offsets: Indexes
    """d + 1; chain j is `frames[offsets[j]:offsets[j + 1]]`, innermost first."""
    frames: Indexes
    """Ids for `SymbolizedBinary.frame`."""

    @property
    def is_inlined(self) -> npt.NDArray[np.bool_]:
        """Whether each of `frames` was inlined into the next one of its chain."""
        inlined = np.ones(len(self.frames), np.bool_)
        inlined[self.offsets[1:][np.diff(self.offsets) > 0] - 1] = False
        return inlined


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a chain."""

    function_raw: str
    """The linkage name."""
    function: str
    """The name as in the source."""
    file: str
    """Normalized path of `line`; '' if not known."""
    line: int
    """The executing line; 0 if not known."""
    start_file: str
    """File of the function's start; differs from `file` if the line is in a file included within the function."""
    start_line: int
    """Line of the function's first instruction; 0 if not known, as for inlined functions."""
    status: Status
    """FULL with a file, else SYMTAB."""


class SymbolizedBinary:
    """Built symbols, looked up by virtual address. For one thread."""

    def __init__(self, symbols: BuiltSymbols, *, name: str = "") -> None:
        self._image = ElfImage(name, symbols.segments, symbols.table, symbols.symbols, "", base=symbols.base)

    def symbolize(self, vaddrs: U64, exact: npt.NDArray[np.bool_] | None = None) -> Batch:
        """Chains of recorded addresses.

        `exact` is true of addresses of the instruction itself and false of return addresses; None: all are exact.
        Raises `MalformedSymCache` or IndexError if the file proves damaged.
        """
        pointers = RecordedPointers(vaddrs, _ALL if exact is None else exact)
        distinct, inverse = np.unique(pointers.looked_up().values, return_inverse=True)
        status, chains = self._image.lookup(ElfVaddrs(distinct))
        return Batch(ElfVaddrs(distinct), inverse, status, chains.offsets, chains.locations)

    def frame(self, identifier: int) -> Frame:
        """The frame of an id; cached. Raises as `symbolize`."""
        function, line = self._image.name_of(identifier)
        location = self._image.location_of(identifier)
        return Frame(
            function_raw=function.raw_name,
            function=function.name,
            file=location.file if location is not None else "",
            line=line,
            start_file=function.file,
            start_line=function.start_line,
            status=function.status,
        )


_ALL: Final = np.ones(1, np.bool_)
