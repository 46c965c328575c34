"""Effect of a hardware feature (DIGEST G24): the share of cycles in functions that would use it."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Bool, sums
from analysis.errors import BadShape
from analysis.input_checks import enough, number
from analysis.measured import Measured
from analysis.table_shares import shares
from analysis.visit_table import VisitTable


@dataclass(frozen=True, slots=True)
class Touched:
    """The part of a selection that a feature affects."""

    share: Measured
    """Share of its cycles, 0…1."""
    low_confidence: bool
    visits: int

    def saved(self, speedup: float) -> Measured:
        """Part of all cycles saved if the affected part becomes `speedup` ≥ 1 times as fast; 0…1 (Amdahl).

        Raises NotANumber.
        """
        part = 1 - 1 / number("speedup", speedup, 1)
        return Measured(*(part * end for end in (self.share.value, self.share.lo, self.share.hi)))


def touched(table: VisitTable, rows: Bool) -> Touched:
    """The total share of a set of rows, (R,), with the variance of their sum per visit.

    Raises InsufficientData without a visit, BadShape.
    """
    if len(rows) != table.rows:
        raise BadShape("Each row needs a mark: affected or not.")
    enough("visits", table.visits, 1)
    y = sums(table.visit, table.y * rows[table.row], table.visits)
    seen = np.flatnonzero(y)
    found = shares(replace(table, row=np.zeros(len(seen), np.int64), visit=seen, y=y[seen], rows=1))
    share = Measured(float(found.value[0]), float(found.lo[0]), float(found.hi[0]))
    return Touched(share, bool(found.low_confidence[0]), table.visits)
