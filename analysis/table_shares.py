"""Shares of all rows of a visit table, with their intervals."""

from dataclasses import fields

import numpy as np

from analysis import estimate, moments
from analysis.confidence import LEVEL
from analysis.estimate import Estimates
from analysis.visit_table import VisitTable
from analysis.weights import CLASSES, equal

_PAIRS_AT_ONCE = 400_000
"""Pairs of row and visit per batch of moments: 80 MB."""


def shares(table: VisitTable, level: float = LEVEL) -> Estimates:
    """Shares of all rows, computed in batches of rows: moments take about 200 bytes per pair."""
    at_once = max(1, _PAIRS_AT_ONCE * table.rows // max(len(table.y), 1))
    some = [
        estimate.shares(moments_of(table, first, min(at_once, table.rows - first)), level)
        for first in range(0, max(table.rows, 1), at_once)
    ]
    return Estimates(
        *(np.concatenate([getattr(found, field.name) for found in some]) for field in fields(Estimates))
    )


def moments_of(table: VisitTable, first: int, rows: int) -> moments.Moments:
    """Moments of some rows; the visits here are all visits, and those without a sample have no share."""
    _, stratum = np.unique(table.stratum, return_inverse=True)
    weights = equal(np.bincount(stratum).astype(np.float64))
    pairs = (table.row >= first) & (table.row < first + rows)
    return moments.from_visits(
        table.weight,
        stratum.astype(np.int64) * CLASSES,
        weights,
        x=table.x,
        row=table.row[pairs] - first,
        visit=table.visit[pairs],
        y=table.y[pairs],
        rows=rows,
    )
