"""SymCache files of versions that `symcache` does not read, through the library that wrote them."""

import posixpath

import numpy as np
import numpy.typing as npt
from symbolic.exceptions import SymbolicError
from symbolic.symcache import SymCache as Library

from symbolizer.addresses import CacheAddresses
from symbolizer.errors import MalformedSymCache
from symbolizer.tables.address_table import NONE, Chains, Indexes, Location


class LibrarySymCache:
    """A SymCache of an unsupported version, looked up through `symbolic` one address at a time.

    40 thousand addresses a second: slow, but correct.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._library = Library.from_bytes(content)  # type: ignore[no-untyped-call]  # symbolic is typed in part
        except SymbolicError as error:
            raise MalformedSymCache(f"The SymCache file is unusable: {error}.") from error
        self._indexes: dict[Location, int] = {}
        self._levels: list[Location] = []

    def chains(self, addresses: CacheAddresses) -> Chains:
        """Chains of the addresses; each distinct one is looked up once."""
        distinct, inverse = np.unique(addresses.values, return_inverse=True)
        found = [self._chain(address) for address in distinct.tolist()]
        offsets = np.append(0, np.cumsum([len(found[i]) for i in inverse.tolist()], dtype=np.int64))
        return Chains(offsets, np.array([index for i in inverse.tolist() for index in found[i]], np.int64))

    def _chain(self, address: int) -> list[int]:
        levels = self._library.lookup(address) if address < NONE else ()
        return [
            self._index(
                Location(
                    level.symbol or "",
                    posixpath.normpath(level.full_path) if level.full_path else "",
                    level.line,
                )
            )
            for level in levels
        ]

    def _index(self, level: Location) -> int:
        index = self._indexes.setdefault(level, len(self._levels))
        if index == len(self._levels):
            self._levels.append(level)
        return index

    @property
    def all_named(self) -> bool:
        """Always False: not known before all locations were read."""
        return False

    def named(self, locations: Indexes) -> npt.NDArray[np.bool_]:
        """Which of the locations have a function with a name."""
        return np.array([bool(self._levels[index].function) for index in locations.tolist()], np.bool_)

    def location(self, index: int) -> Location:
        """The location of an index in `Chains.locations`."""
        return self._levels[index]
