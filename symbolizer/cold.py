"""Functions that a compiler split: the seldom executed part is a symbol `f.cold` elsewhere.

GCC puts cold parts into .text.unlikely, which linkers place before .text. A SymCache names a
function after the symbol at its lowest address, so it calls all of `f`, the hot part too, `f.cold`;
and where `f`'s own cold part is empty, by the next one's name: CPython's interpreter loop, half of
every profile of it, was `ast2obj_expr.cold`. The symbol that holds the address knows better.
"""

import re

import numpy as np

from storage.landing.resolved import FunctionName, Status
from symbolizer.addresses import ElfVaddrs
from symbolizer.demangle import demangle
from symbolizer.symcache import AddressTable, Chains, Indexes, Location
from symbolizer.symtab import SymbolTable

_COLD = re.compile(r"\.cold(?:\.\d+)?$")


def whole_name(raw: str) -> str:
    """The name of the function that a symbol is, or is the cold part of."""
    return _COLD.sub("", raw)


class SplitFunctions:
    """Renames the functions of one image that its SymCache names after a cold part.

    Ids that `rename` puts into chains stand beside those of locations (from 0) and symbols (below 0).
    """

    FIRST_ID = 1 << 40

    def __init__(self, binary: str, table: AddressTable, base: int, symbols: SymbolTable) -> None:
        self._binary = binary
        self._table = table
        self._base = base
        self._symbols = symbols
        self._is_cold: dict[int, bool] = {}
        self._ids: dict[tuple[int, int], int] = {}
        self._pairs: list[tuple[int, int]] = []

    def rename(self, chains: Chains, vaddrs: ElfVaddrs) -> Chains:
        """The chains with other ids for the functions concerned; `vaddrs` are what was looked up.

        Only the outermost level of a chain can be concerned: code that was inlined has no symbol.
        """
        found = np.flatnonzero(np.diff(chains.offsets))
        outermost = chains.offsets[1:][found] - 1
        locations = chains.locations[outermost]
        distinct, which = np.unique(locations, return_inverse=True)
        cold = np.array([self._names_cold_part(index) for index in distinct.tolist()], np.bool_)[which]
        if not cold.any():
            return chains
        symbol = self._symbols.find(ElfVaddrs(vaddrs.values[found[cold]]))
        renamed = chains.locations.copy()
        renamed[outermost[cold]] = [
            self._id(*pair) for pair in zip(locations[cold].tolist(), symbol.tolist(), strict=True)
        ]
        return Chains(chains.offsets, renamed)

    def name(self, identifier: int) -> tuple[FunctionName, int]:
        """What an id of `rename` stands for: the function, and the line executing in it."""
        index, symbol = self._pairs[identifier - self.FIRST_ID]
        location = self._table.location(index)
        start = self._symbols.symbol(symbol) if symbol >= 0 else None
        raw = whole_name(start.name if start else location.function)
        defined = location
        if start is not None and start.name == raw:  # the hot part: its first instruction tells the file
            defined = self._outermost_at(start.start) or location
        name = FunctionName(
            name=demangle(raw),
            raw_name=raw,
            file=defined.file,
            binary_name=self._binary,
            status=Status.FULL if defined.file else Status.SYMTAB,
            start_line=defined.line if defined is not location else 0,
        )
        return name, location.line

    def _names_cold_part(self, index: int) -> bool:
        if index < 0:
            return False
        known = self._is_cold.get(index)
        if known is None:
            known = self._is_cold[index] = bool(_COLD.search(self._table.location(index).function))
        return known

    def _id(self, index: int, symbol: int) -> int:
        pair = index, symbol
        if pair not in self._ids:
            self._ids[pair] = self.FIRST_ID + len(self._pairs)
            self._pairs.append(pair)
        return self._ids[pair]

    def _outermost_at(self, vaddr: int) -> Location | None:
        at = ElfVaddrs(np.array([vaddr], np.uint64)).relative_to(self._base)
        locations: Indexes = self._table.chains(at).locations
        return self._table.location(int(locations[-1])) if len(locations) else None
