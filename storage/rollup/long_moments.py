"""The weighted moments of closed days: parts of `analysis.moments.Moments`, in columns.

Different days have different visits as clusters, so parts of different buckets add. They are in double precision: the
variance of a share is a small difference of large sums, and in single precision a function of only one visit once
appeared to be known to four digits. `long_moments_codec` stores them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Float, Int64, among, by_pair, counts, runs


@dataclass(frozen=True, slots=True)
class Parts:
    """Columns over weighted cells, and over their functions, cell by cell and ascending within each.

    Names are those of `analysis.moments.Moments`; `e` is the whole event where `x` is the cell.
    """

    machines: Int64
    """Bits, as in `moments.Sums`."""
    ingested: Float
    df: Float
    x: Float
    vxx: Float
    vxe: Float
    x_second: Float
    x_fourth: Float
    count: Int64
    """Rows of each cell, one per function."""
    function: Int64
    visits: Int64
    row_machines: Int64
    own: Float
    total: Float
    own_vyy: Float
    own_vxy: Float
    own_second: Float
    own_fourth: Float
    total_vyy: Float
    total_vxy: Float
    total_second: Float
    total_fourth: Float
    own_units: Int64
    """Observed units, as is `total_units`."""
    total_units: Int64

    def __len__(self) -> int:
        return len(self.machines)

    @property
    def cell(self) -> Int64:
        """The cell of each row, counted from 0."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def of(self, cells: Int64) -> "Parts":
        """The given cells, in the given order."""
        first = np.cumsum(self.count) - self.count
        rows = runs(first[cells], self.count[cells])
        return Parts(*(getattr(self, name)[cells if name in _OF_CELLS else rows] for name in _NAMES))

    def of_functions(self, wanted: Bool) -> "Parts":
        """The cells with only the functions that are `wanted` by id."""
        keep = among(self.function, wanted)
        columns = {name: getattr(self, name)[keep] for name in _ROWS}
        return replace(self, count=counts(self.cell[keep], len(self)), **columns)


_NAMES = [field.name for field in fields(Parts)]
SCALARS = _NAMES[1:8]
_ROWS = _NAMES[9:]
SQUARES = _NAMES[14:-2]
_OF_CELLS = frozenset(_NAMES[:9])


def add_up(parts: Parts, into: Int64, cells: int) -> Parts:
    """Merge into fewer cells: cell i goes into `into[i]`, 0…cells−1."""
    scalars = [np.bincount(into, getattr(parts, name), cells) for name in SCALARS]
    machines = np.zeros(cells, np.int64)
    np.bitwise_or.at(machines, into, parts.machines)
    cell = into[parts.cell]
    order, first = by_pair(cell, parts.function)
    lead = order[first]
    rows: list[npt.NDArray[Any]] = [getattr(parts, name) for name in _ROWS]
    if len(order):
        rows = [rows[0][lead], np.add.reduceat(rows[1][order], first)] + [
            (np.bitwise_or if column is parts.row_machines else np.add).reduceat(column[order], first)
            for column in rows[2:]
        ]
    arguments: list[Any] = [machines, *scalars, counts(cell[lead], cells), *rows]
    return Parts(*arguments)


def concatenated(parts: Sequence[Parts]) -> Parts:
    """The cells of all parts, one part after the other; at least one part."""
    arguments: list[Any] = [np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES]
    return Parts(*arguments)


def _none() -> Parts:
    kinds: dict[Any, Any] = {Int64: np.zeros(0, np.int64), Float: np.zeros(0)}
    return Parts(*(kinds[field.type] for field in fields(Parts)))


NO_PARTS = _none()
