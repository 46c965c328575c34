"""Selects a representative subset of two selections' visits.

A hash of their keys selects the visits, so the result is deterministic, and both entries of a visit in both selections
are kept or dropped together. A small selection stays complete: 30 canary visits are not reduced to 3 because their base
has 20 000. Source: Cochran, Sampling Techniques (1977), chapter 5 (stratified sampling).
"""

from dataclasses import replace

import numpy as np

from analysis.arrays import Bool
from analysis.visit_table import VisitTable, scattered

_FEWEST = 2
"""Minimum visits kept per stratum: one has no variance."""


def subsample(a: VisitTable, b: VisitTable, most: int) -> tuple[VisitTable, VisitTable]:
    """About `most` visits of two tables in total; the weights in each stratum are scaled up for the dropped ones."""
    paired = np.isin(a.key, b.key), np.isin(b.key, a.key)
    sizes = [int((~paired[0]).sum()), int((~paired[1]).sum()), int(paired[0].sum())]
    limit = _level(sizes, [1, 1, 2], most)
    return _kept(a, paired[0], limit), _kept(b, paired[1], limit)


def _level(sizes: list[int], cost: list[int], most: int) -> int:
    """The largest number such that groups, cut down to it, cost at most `most`."""
    low, high = 0, max(sizes)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(c * min(size, middle) for size, c in zip(sizes, cost, strict=True)) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _kept(table: VisitTable, paired: Bool, limit: int) -> VisitTable:
    keep, scale = np.zeros(table.visits, np.bool_), np.ones(table.visits)
    order = np.argsort(scattered(table.key), kind="stable")
    for group in (paired, ~paired):
        share = limit / max(int(group.sum()), 1)
        if share >= 1:
            keep |= group
            continue
        # Both entries of a pair are in one stratum, so the same pairs are kept in both tables.
        members = order[group[order]]
        for stratum in np.unique(table.stratum[members]):
            of = members[table.stratum[members] == stratum]
            count = min(len(of), max(_FEWEST, round(share * len(of))))
            keep[of[:count]] = True
            scale[of[:count]] = len(of) / count
    kept = np.flatnonzero(keep)
    return replace(table.of(kept), weight=(table.weight * scale)[kept])
