"""Sums of cells by function, without reading stacks: tens of thousands of sums, not a million stacks.

A cell's sums by function equal those of its visits: a stack counts once in the total of each of its functions, however
often the function occurs in it.
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
"""Memory per function in the sums, and while those of a block are added to them."""


def sums_of(scanned: RollupScan) -> FunctionSums | None:
    """The sums of the cells by function, with the function ids at the time of merging.

    Returns None if some of their stacks have an unknown function. Raises what `query_budget.take` raises.
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
    """Sums by function id; grows to the largest id."""

    def __init__(self) -> None:
        self.own, self.total = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.own_weight, self.total_weight = np.zeros(1), np.zeros(1)

    def add(self, more: FunctionSums) -> None:
        """Add sums; `more` has each function once."""
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
    """The column, extended with zeros."""
    wide = np.zeros(size, column.dtype)
    wide[: len(column)] = column
    return wide


def together(sums: FunctionSums, canonical: Int64, shape: Shape, delta: Delta) -> FunctionSums:
    """The sums by canonical function, with the delta visits added and subtracted.

    `canonical` has the canonical function by function id, `shape` the stack of each delta fact. Totals of functions
    with the same canonical function are added; no stack may have two of them.
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
        # Any node with units has an outermost node with units.
        outer = np.flatnonzero(shape.outermost & (total_at > 0))
        of_outer = shape.function[outer]
        own += sign * sum_at(shape.function, own_at, size)
        total += sign * sum_at(of_outer, total_at[outer], size)
        own_weight += sign * weight_at(shape.function, weight_own, size)
        total_weight += sign * weight_at(of_outer, weight_total[outer], size)
    return _present(own, total, own_weight, total_weight)


def _present(own: Int64, total: Int64, own_weight: Float, total_weight: Float) -> FunctionSums:
    """The functions with units, from columns by id; id 0 is unused."""
    function = np.flatnonzero(total[1:] > 0) + 1
    own, total = own[function], total[function]
    # A complete subtraction leaves a rounding error in the weight.
    return FunctionSums(
        function,
        own,
        total,
        np.where(own > 0, np.maximum(own_weight[function], 0.0), 0.0),
        np.maximum(total_weight[function], 0.0),
    )
