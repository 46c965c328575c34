"""Composition of the fleet's work over time: shares by compiler, builder, platform, kernel, version (DIGEST G31)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float
from analysis.audits.rollout import Rollout, disappearance, rollout
from analysis.errors import BadShape, NotEstimable
from analysis.input_checks import enough
from analysis.table_shares import shares
from analysis.visit_table import VisitTable


@dataclass(frozen=True, slots=True)
class Composition:
    """Shares of R values at T times; (T, R) each, NaN at times without visits."""

    time: Float
    value: Float
    lo: Float
    hi: Float
    low_confidence: Bool

    def changes(self) -> dict[int, Rollout | NotEstimable]:
        """When each value arrived, or left if its share fell, or why that is unknown.

        Times without visits are left out.
        """
        return {row: self._change(row) for row in range(self.value.shape[1])}

    def _change(self, row: int) -> Rollout | NotEstimable:
        known = np.flatnonzero(~np.isnan(self.value[:, row]))
        columns = [column[known, row] for column in (self.value, self.lo, self.hi)]
        ask = disappearance if len(known) and columns[0][-1] < columns[0][0] else rollout
        try:
            return ask(self.time[known], *columns, values=self.value.shape[1])
        except NotEstimable as because:
            return because


def compose(time: Float, tables: Sequence[VisitTable]) -> Composition:
    """The composition from the visits of each time; rows are the values, equal in all.

    Raises InsufficientData, BadShape.
    """
    enough("times", len(tables), 1)
    if len(time) != len(tables) or len({table.rows for table in tables}) > 1:
        raise BadShape("Every time range needs its visits, grouped by the same values.")
    found = [shares(table) for table in tables]
    seen = np.array([table.visits > 0 for table in tables])[:, None]
    value, lo, hi = (
        np.where(seen, [getattr(one, name) for one in found], np.nan) for name in ("value", "lo", "hi")
    )
    return Composition(
        np.asarray(time, np.float64), value, lo, hi, np.array([one.low_confidence for one in found]) | ~seen
    )
