"""What cells have of every function, their stacks unread: tens of thousands of sums where there are a million stacks.

A cell's sums by function are those of its visits: a stack counts once in the total of each of its functions, however often the
function stands in it.
"""

from typing import TypeVar

import numpy as np

from storage.arrays import Float, Int64, sum_at, weight_at
from storage.query.cells.blocks import FunctionSums
from storage.query.cells.raw_blocks import OpenBlocks
from storage.query.cells.rollup_scan import Delta, RollupScan
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget

_Column = TypeVar("_Column", Int64, Float)
_FUNCTION_BYTES = 64
"""Of a function in the sums, and while those of a block are added to them."""


def sums_of(scanned: RollupScan) -> FunctionSums | None:
    """What the cells have of each function as it was called when they were merged.

    None: a function is not known of some of their stacks.
    Raises as `budget.take`.
    """
    blocks = scanned.blocks
    if blocks is None or not isinstance(blocks.open, OpenBlocks):
        return None
    sums = _Adding()
    for more in blocks.closed.amounts():
        sums.add(more)
    for more in blocks.open.amounts(scanned.open.weight):
        query_budget.checkpoint()
        sums.add(more)
    if int(sums.own.sum()) != int(scanned.cells.total.sum() + scanned.closed.total.sum()):
        return None
    return _present(sums.own, sums.total, sums.own_weight, sums.total_weight)


class _Adding:
    """Sums by function id, of as many ids as there were."""

    def __init__(self) -> None:
        self.own, self.total = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.own_weight, self.total_weight = np.zeros(1), np.zeros(1)

    def add(self, more: FunctionSums) -> None:
        """`more` has each function once."""
        size, before = int(more.function.max(initial=0)) + 1, len(self.own)
        if size > before:
            query_budget.take(_FUNCTION_BYTES * (size - before))
            self.own, self.total = _wider(self.own, size), _wider(self.total, size)
            self.own_weight, self.total_weight = (
                _wider(self.own_weight, size),
                _wider(self.total_weight, size),
            )
        self.own[more.function] += more.own
        self.total[more.function] += more.total
        self.own_weight[more.function] += more.own_weight
        self.total_weight[more.function] += more.total_weight


def _wider(column: _Column, size: int) -> _Column:
    """The column with zeros behind it."""
    wide = np.zeros(size, column.dtype)
    wide[: len(column)] = column
    return wide


def together(sums: FunctionSums, canonical: Int64, shape: Shape, delta: Delta) -> FunctionSums:
    """The sums by what functions are called now, with what the loose visits brought, or without what is to be taken out.

    `canonical` says what readers take instead of a function, and `shape` has the stack of each of the loose facts. Totals of
    functions that have become one are added up: no stack may have two of them.
    """
    called = canonical[sums.function]
    if not len(delta.facts.stack) and np.array_equal(called, sums.function):
        return sums
    size = int(max(called.max(initial=0), shape.function.max())) + 1
    own, total = sum_at(called, sums.own, size), sum_at(called, sums.total, size)
    own_weight, total_weight = (weight_at(called, c, size) for c in (sums.own_weight, sums.total_weight))
    units, weights = delta.signed_units, np.repeat(delta.of_visit, delta.facts.facts)
    for sign in (1, -1):
        here = np.flatnonzero(sign * units > 0)
        if not len(here):
            continue
        leaf, contributions = shape.leaf[here], sign * units[here]
        own_at = sum_at(leaf, contributions, len(shape))
        weight_own = weight_at(leaf, contributions * weights[here], len(shape))
        total_at, weight_total = shape.totals(own_at), shape.weight_totals(weight_own)
        # Whatever has units has an outermost node with units.
        outer = np.flatnonzero(shape.outermost & (total_at > 0))
        of_outer = shape.function[outer]
        own += sign * sum_at(shape.function, own_at, size)
        total += sign * sum_at(of_outer, total_at[outer], size)
        own_weight += sign * weight_at(shape.function, weight_own, size)
        total_weight += sign * weight_at(of_outer, weight_total[outer], size)
    return _present(own, total, own_weight, total_weight)


def _present(own: Int64, total: Int64, own_weight: Float, total_weight: Float) -> FunctionSums:
    """Those that have units, from columns by id; id 0 is nobody's."""
    function = np.flatnonzero(total[1:] > 0) + 1
    own, total = own[function], total[function]
    # What was taken out wholly leaves a rounding error of its weight.
    return FunctionSums(
        function,
        own,
        total,
        np.where(own > 0, np.maximum(own_weight[function], 0.0), 0.0),
        np.maximum(total_weight[function], 0.0),
    )
