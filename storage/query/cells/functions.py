"""What cells have of every function, their stacks unread: tens of thousands of sums where there are a million stacks.

A cell's sums by function are those of its visits: a stack counts once in the total of each of its functions, however often the
function stands in it.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from storage.query import budget
from storage.query.arrays import Float, Int64, sum_at, weight_at
from storage.query.cells.gathered import Gathered, Loose
from storage.query.stacks.stack_tree import Shape
from storage.rolling.moments_codec import Amounts

_Column = TypeVar("_Column", Int64, Float)
_PART_BYTES = 48 << 20
"""While a part of a million functions of cells is added up; functions of closed cells, which are few, take as much each."""
_FUNCTION_BYTES = 64
"""Of a function in the sums, and while a part is added to them."""


@dataclass(frozen=True, slots=True)
class FunctionSums:
    """Columns over functions, ascending, each once; those without units are not among them."""

    function: Int64
    own: Int64
    """Units observed that end in the function."""
    total: Int64
    """Units observed of stacks that have it."""
    own_weight: Float
    """Units of the fleet that they stand for."""
    total_weight: Float


def sums_of(gathered: Gathered) -> FunctionSums | None:
    """What the cells have of each function as it was called when they were merged.

    None: some were made before cells kept what was observed of functions, or a function is not known of some of their stacks.
    What it takes is told from the cells' heads, before any of it is unpacked. Raises as `budget.take`.
    """
    if not gathered.closed.unpacked.counted:
        return None
    budget.take(gathered.cells.unpacked.size + gathered.closed.unpacked.size + _PART_BYTES)
    closed = gathered.closed.amounts()
    sums = _Adding()
    sums.add(closed.function, closed.own_units, closed.total_units, closed.own, closed.total)
    budget.checkpoint()
    for part in gathered.cells.amounts():
        weight = np.repeat(gathered.open.weight[part.cell] * part.divisor, part.rows)
        own, total = _in_units(part, part.own), _in_units(part, part.total)
        sums.add(part.function, own, total, part.own * weight, part.total * weight)
        budget.checkpoint()
    if int(sums.own.sum()) != int(gathered.cells.total.sum() + gathered.closed.total.sum()):
        return None
    return _present(sums.own, sums.total, sums.own_weight, sums.total_weight)


class _Adding:
    """Sums by function id, of as many ids as there were."""

    def __init__(self) -> None:
        self.own, self.total = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.own_weight, self.total_weight = np.zeros(1), np.zeros(1)

    def add(self, function: Int64, own: Int64, total: Int64, own_weight: Float, total_weight: Float) -> None:
        before = len(self.own)
        size = max(int(function.max(initial=0)) + 1, before)
        budget.take(_FUNCTION_BYTES * (size - before))
        self.own = _added(self.own, sum_at(function, own, size))
        self.total = _added(self.total, sum_at(function, total, size))
        self.own_weight = _added(self.own_weight, weight_at(function, own_weight, size))
        self.total_weight = _added(self.total_weight, weight_at(function, total_weight, size))


def _added(before: _Column, more: _Column) -> _Column:
    """The sum of both; the first may be shorter."""
    more[: len(before)] += before
    return more


def _in_units(part: Amounts, amounts: Int64) -> Int64:
    """What stands in multiples of its cell's divisor."""
    return amounts * np.repeat(part.divisor, part.rows)


def together(sums: FunctionSums, canonical: Int64, shape: Shape, loose: Loose) -> FunctionSums:
    """The sums by what functions are called now, with what the loose visits brought, or without what is to be taken out.

    `canonical` says what readers take instead of a function, and `shape` has the stack of each of the loose facts. Totals of
    functions that have become one are added up: no stack may have two of them.
    """
    called = canonical[sums.function]
    if not len(loose.facts.stack) and np.array_equal(called, sums.function):
        return sums
    size = int(max(called.max(initial=0), shape.function.max())) + 1
    own, total = sum_at(called, sums.own, size), sum_at(called, sums.total, size)
    own_weight, total_weight = (weight_at(called, c, size) for c in (sums.own_weight, sums.total_weight))
    units, weights = loose.signed_units, np.repeat(loose.of_visit, loose.facts.facts)
    for sign in (1, -1):
        here = np.flatnonzero(sign * units > 0)
        if not len(here):
            continue
        leaf, brought = shape.leaf[here], sign * units[here]
        own_at = sum_at(leaf, brought, len(shape))
        weight_own = weight_at(leaf, brought * weights[here], len(shape))
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
