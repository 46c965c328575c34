"""The interface of lookups from addresses to functions, files and lines; it has two implementations."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import CacheAddresses

MISS: Final = -1
NONE: Final = 0xFFFFFFFF
"""A SymCache's value for no string, no file, no address."""

Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Location:
    """One level of a chain: the function, and the source line executing in it."""

    function: str
    """As in the debug data, usually mangled; '' if it has no name."""
    file: str
    """Normalized path of `line`; '' if not known."""
    line: int
    """0 if not known."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Locations of n addresses, innermost first: those of address i are `locations[offsets[i]:offsets[i + 1]]`.

    An address in no function has none.
    """

    offsets: Indexes
    locations: Indexes


class AddressTable(Protocol):
    """Looks up addresses: `SymCache`, or `LibrarySymCache` for versions that it does not read."""

    def chains(self, addresses: CacheAddresses) -> Chains:
        """Chains of the addresses; raises `MalformedSymCache`."""

    @property
    def all_named(self) -> bool:
        """True only if `named` is true of every location; False may also mean that this was not checked."""

    def named(self, locations: Indexes) -> npt.NDArray[np.bool_]:
        """Which of the locations have a function with a name; raises `MalformedSymCache`."""

    def location(self, index: int) -> Location:
        """The location of an index in `Chains.locations`; raises `MalformedSymCache`."""
