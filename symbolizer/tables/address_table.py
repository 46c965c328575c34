"""What answers addresses with functions, files and lines: the shape both of its implementations have."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import CacheAddresses

MISS: Final = -1
NONE: Final = 0xFFFFFFFF
"""What stands in a SymCache for no string, no file, no address."""

Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Location:
    """One level of a chain: the function, and the source line executing in it."""

    function: str
    """As in the debug data, commonly mangled; '' if it has no name."""
    file: str
    """Normalized path of `line`; '' not known."""
    line: int
    """0 not known."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Locations of n addresses, innermost first: those of address i are `locations[offsets[i]:offsets[i + 1]]`.

    An address in no function has none.
    """

    offsets: Indexes
    locations: Indexes


class AddressTable(Protocol):
    """What answers addresses: the reader below, or the library itself for formats it does not know."""

    def chains(self, addresses: CacheAddresses) -> Chains:
        """Chains of the addresses; raises `MalformedSymCache`."""

    @property
    def all_named(self) -> bool:
        """Whether `named` is true of every location there is; may be false though it is."""

    def named(self, locations: Indexes) -> npt.NDArray[np.bool_]:
        """Which of the locations have a function with a name; raises `MalformedSymCache`."""

    def location(self, index: int) -> Location:
        """What an index in `Chains.locations` stands for; raises `MalformedSymCache`."""
