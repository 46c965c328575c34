"""Tables of amounts by visit and row, as `analysis` compares them."""

import numpy as np

from analysis.visit_table import VisitTable
from storage.arrays import Int64
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_totals import PerVisit


def counted(visits: Visits) -> Int64:
    """The visits that have a weight and a unit of the selection."""
    return np.flatnonzero((visits.group >= 0) & (visits.selected > 0))


def visit_table(visits: Visits, found: PerVisit, key: Int64) -> VisitTable:
    """The table of the counted visits; `key` has a number for each of all visits, the same in every table."""
    of = counted(visits)
    number = np.full(len(visits), -1, np.int64)
    number[of] = np.arange(len(of))
    pairs = number[found.visit] >= 0
    return VisitTable(
        key=key[of],
        stratum=visits.stratum[of],
        weight=visits.weight[of],
        x=visits.selected[of].astype(np.float64),
        row=found.row[pairs],
        visit=number[found.visit[pairs]],
        y=found.units[pairs].astype(np.float64),
        rows=found.rows,
    )
