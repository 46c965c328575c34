"""The functions and calls of a tree, each counted once per stack however often it recurs (DIGEST G17).

A stack a;b;a;b has the calls a→b and b→a once each, as in `go tool pprof`. Unlike there, a function's call of itself
is a call too. If functions in between are left out, the call leads from the nearest kept caller and is residual.
"""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Float, Int64, distinct, sorting, sum_at, weight_at
from storage.query.shapes.frame_tree import Borne
from storage.query.stacks.prefix_tree import ROOT


@dataclass(frozen=True, slots=True)
class Called:
    """Columns over functions, by ascending id."""

    function: Int64
    own: Int64
    total: Int64
    own_weight: Float
    total_weight: Float


@dataclass(frozen=True, slots=True)
class Calls:
    """Columns over pairs of a caller and a callee, in ascending order; none without a unit."""

    caller: Int64
    """Function ids."""
    callee: Int64
    units: Int64
    weight: Float
    residual: Bool
    """Some of its stacks have left-out functions between caller and callee."""


def functions_of(borne: Borne) -> Called:
    """Every function of the tree with a unit."""
    shape = borne.shape
    used = np.flatnonzero(borne.total[1:]) + 1
    functions, place = distinct(shape.function[used])
    outer = shape.outermost[used]
    size = len(functions)
    return Called(
        functions,
        sum_at(place, borne.own[used], size),
        sum_at(place[outer], borne.total[used[outer]], size),
        weight_at(place, borne.own_weight[used], size),
        weight_at(place[outer], borne.total_weight[used[outer]], size),
    )


def calls_between(borne: Borne, functions: Int64) -> Calls:
    """The calls among these functions, given as ascending ids."""
    shape = borne.shape
    kept = np.isin(shape.function, functions) & (borne.total > 0)
    kept[ROOT] = False
    above = _nearest(shape.parent, kept)
    called = np.flatnonzero(kept & (above != ROOT))
    pairs, number = np.unique(
        (shape.function[above[called]] << 32) | shape.function[called], return_inverse=True
    )
    first = _outermost(number.astype(np.int64), called, shape.end[called])
    once, which = called[first], number[first]
    residual = np.bincount(number, weights=shape.parent[called] != above[called], minlength=len(pairs)) > 0
    return Calls(
        pairs >> 32,
        pairs & 0xFFFFFFFF,
        sum_at(which, borne.total[once], len(pairs)),
        weight_at(which, borne.total_weight[once], len(pairs)),
        residual,
    )


def _nearest(parent: Int64, kept: Bool) -> Int64:
    """The nearest kept node above each; the root if there is none."""
    above = parent.copy()
    above[ROOT] = ROOT
    while True:
        beyond = np.flatnonzero(~kept[above] & (above != ROOT))
        if not len(beyond):
            return above
        above[beyond] = above[above[beyond]]  # a left-out node's own pointer stops at the first that is kept


def _outermost(key: Int64, nodes: Int64, end: Int64) -> Bool:
    """Marks nodes without an ancestor of their key among the nodes, in preorder: `prefix_tree.outermost` for few nodes.

    A node lies inside an earlier one of its key if it begins before the largest end so far.
    """
    order = sorting(key)
    size = int(end.max(initial=0)) + 1
    lifted = key[order] * size  # lifts every key above the ones before it: one running maximum serves all
    reach = np.maximum.accumulate(end[order] + lifted)
    inside = np.zeros(len(key), np.bool_)
    inside[1:] = reach[:-1] > nodes[order][1:] + lifted[1:]
    found = np.empty(len(key), np.bool_)
    found[order] = ~inside
    return found
