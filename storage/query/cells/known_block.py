"""The cells of one hour or day as far as a few functions go: what a series asks of them again and again."""

from dataclasses import dataclass

from storage.query.arrays import Int64
from storage.rolling.moments import Sums


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """The cells of an hour or a day as far as a few functions go, in the order of their keys."""

    rows: Int64
    """As those of `OpenBlock`."""
    known: Int64
    """Functions of which `sums` has whatever the cells have; ascending."""
    sums: Sums
    """In units."""
