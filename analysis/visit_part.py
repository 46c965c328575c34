"""A part of two selections' visits that stands for all of them.

Which visits are in it is decided by a hash of their keys, so the same question has the same answer, and a visit of both
selections is in or out with both its halves. A small selection stays whole: 30 canary visits are not made 3
because their base has 20 000. Source: Cochran, Sampling Techniques (1977), chapter 5 (stratified sampling).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analysis.arrays import Bool, Float, Int
from analysis.visit_table import VisitTable

_FEWEST = 2
"""Visits of a stratum that are kept at least: one has no variance."""


def part(a: VisitTable, b: VisitTable, most: int) -> tuple[VisitTable, VisitTable]:
    """About `most` visits of two tables in all; those of each stratum weigh more by as much as fewer are left."""
    paired = np.isin(a.key, b.key), np.isin(b.key, a.key)
    sizes = [int((~paired[0]).sum()), int((~paired[1]).sum()), int(paired[0].sum())]
    limit = _level(sizes, [1, 1, 2], most)
    return _kept(a, paired[0], limit), _kept(b, paired[1], limit)


def _level(sizes: list[int], cost: list[int], most: int) -> int:
    """The largest number such that groups, cut down to it, cost `most` at most."""
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
    order = np.argsort(_hash(table.key), kind="stable")
    for group in (paired, ~paired):
        share = limit / max(int(group.sum()), 1)
        if share >= 1:
            keep |= group
            continue
        # Halves of a pair are of one stratum: the same are kept of both.
        members = order[group[order]]
        for stratum in np.unique(table.stratum[members]):
            of = members[table.stratum[members] == stratum]
            count = min(len(of), max(_FEWEST, round(share * len(of))))
            keep[of[:count]] = True
            scale[of[:count]] = len(of) / count
    return _only(table, keep, scale)


def _only(table: VisitTable, keep: Bool, scale: Float) -> VisitTable:
    place = np.cumsum(keep) - 1
    pairs = keep[table.visit]
    return replace(
        table,
        key=table.key[keep],
        stratum=table.stratum[keep],
        weight=(table.weight * scale)[keep],
        x=table.x[keep],
        row=table.row[pairs],
        visit=place[table.visit[pairs]],
        y=table.y[pairs],
    )


def _hash(key: Int) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser: neighbouring keys, as of visits that followed one another, are far apart."""
    z = key.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
