"""Groups stacks that count for the same table rows into classes, to aggregate samples by (class, visit).

A table shows a hundred functions of stacks with forty frames: sums by (class, visit) have a fraction of the rows of
sums by (function, visit), and the rows of each class are known here.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Int64, group_starts, sorting, sum_at
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_totals import Contributions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import Rows

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class StackClasses:
    """Classes of stacks by the rows, 0…n−1, that they count for."""

    of_stack: Int64
    """The class of each stack of the shape; -1: it counts for no row."""
    own: Int64
    """By class, the row of its self value; -1: none, also in `path`."""
    path: Int64
    """By class, the innermost row that it counts for in total, as an index of `row` and `outer`."""
    row: Int64
    outer: Int64
    """The next outer row, as an index of `row`; -1: none."""

    @classmethod
    def of(cls, shape: Shape, own_row: Int64, total_row: Int64) -> "StackClasses":
        """Build classes from each node's row as a stack's leaf and its row in totals; -1: none.

        Nodes with the same row in `total_row` must not be ancestors of each other.
        """
        near = _nearest(shape, total_row >= 0)
        row, outer, path_of = _paths(shape, total_row, near)
        own, path = own_row[shape.leaf], path_of[near[shape.leaf]]
        counted = np.flatnonzero((own >= 0) | (path >= 0))
        pairs, which = np.unique((own[counted] + 1) * (len(row) + 1) + path[counted] + 1, return_inverse=True)
        of_stack = np.full(len(shape.leaf), -1, np.int64)
        of_stack[counted] = which
        return cls(of_stack, pairs // (len(row) + 1) - 1, pairs % (len(row) + 1) - 1, row, outer)

    def contributions(self, found: Rows, *, rows: int, visits: int) -> Contributions:
        """The visits' contributions to rows.

        `found` has sums by class and visit, with the columns `class`, `visit`, `samples`, `units`.
        """
        class_, visit, samples, units = (found.ints(name) for name in ("class", "visit", "samples", "units"))
        own = self.own[class_]
        there = own >= 0
        parts = [(_NONE, _NONE, _NONE, _NONE)]
        left = np.arange(len(found))
        at = self.path[class_]
        while len(left):
            query_budget.checkpoint()
            left, at = left[at >= 0], at[at >= 0]
            parts.append((self.row[at], visit[left], samples[left], units[left]))
            at = self.outer[at]
        row, of_visit, of_samples, of_units = (
            np.concatenate(columns) for columns in zip(*parts, strict=True)
        )
        return Contributions(
            sum_at(own[there], samples[there], rows),
            sum_at(row, of_samples, rows),
            visit_totals.of_pairs(own, visit, units, rows=rows, visits=visits),
            visit_totals.of_pairs(row, of_visit, of_units, rows=rows, visits=visits),
        )


def _nearest(shape: Shape, marked: Bool) -> Int64:
    """For each node the innermost marked node among itself and its callers; -1: none."""
    found = np.where(marked, np.arange(len(shape)), -1)
    by_depth = sorting(shape.depth)
    bounds = [*group_starts(shape.depth[by_depth]).tolist(), len(by_depth)]
    for low, high in itertools.pairwise(bounds[1:]):  # the root has no caller
        level = by_depth[low:high]
        found[level] = np.where(marked[level], level, found[shape.parent[level]])
    return found


def _paths(shape: Shape, total_row: Int64, near: Int64) -> tuple[Int64, Int64, Int64]:
    """(row, next outer path or -1, path of each node or -1): the distinct row sequences along the stacks of a tree."""
    path_of = np.full(len(shape) + 1, -1, np.int64)  # one more, for nodes without a marked node
    left = np.flatnonzero(total_row >= 0)
    above = np.where(shape.parent[left] >= 0, near[shape.parent[left]], -1)
    rows, outers, count = [_NONE], [_NONE], 0
    ready = above < 0
    size = int(total_row.max(initial=0)) + 1
    while len(left):
        here = left[ready]
        pairs, which = np.unique((path_of[above[ready]] + 1) * size + total_row[here], return_inverse=True)
        path_of[here] = count + which
        rows.append(pairs % size)
        outers.append(pairs // size - 1)
        count += len(pairs)
        left, above = left[~ready], above[~ready]
        ready = path_of[above] >= 0
    return np.concatenate(rows), np.concatenate(outers), path_of
