"""How many independent samples a function's share is worth: what intervals of flame nodes are made of.

A node has no interval of its own: there may be 200 000. It borrows its function's design effect,
and answers say so (docs/numbers.md).
"""

import numpy as np

from analysis import estimate
from storage.query.arrays import Float, Int64, sorting
from storage.query.samples import Samples
from storage.query.weighing import by_visit

_MOST = 400
"""Functions it is computed for, the heaviest ones: each costs a pass over its own facts."""


def effective_sizes(samples: Samples, weights: Float, functions: Int64) -> tuple[float | None, ...]:
    """Effective samples behind the total of each function; None: not among the heaviest, or no design.

    `weights` are the nodes' totals in units of the fleet; `functions` ascend.
    """
    found: list[float | None] = [None] * len(functions)
    if samples.evidence.design.weights is None or not len(samples.facts.stack):
        return tuple(found)
    shape, seen, evidence = samples.shape, samples.seen, samples.evidence
    nodes = np.flatnonzero(shape.outermost)
    of_function = np.full(int(max(shape.function.max(), functions[-1])) + 1, -1, np.int64)
    of_function[functions] = np.arange(len(functions))
    place = of_function[shape.function[nodes]]
    nodes, place = nodes[place >= 0], place[place >= 0]
    weight = np.bincount(place, weights=weights[nodes], minlength=len(functions))
    heaviest = np.argsort(-weight, kind="stable")[:_MOST]
    heaviest = np.sort(heaviest[weight[heaviest] > 0])  # the root is nobody's function
    number = np.full(len(functions), -1, np.int64)
    number[heaviest] = np.arange(len(heaviest))
    row = number[place]
    nodes, row = nodes[row >= 0], row[row >= 0]
    by_row = sorting(row)
    nodes = nodes[by_row]
    first = np.searchsorted(row[by_row], np.arange(len(heaviest) + 1))
    order, below = shape.by_node(seen.leaf)
    sums = by_visit.of_slices(
        first,
        below[nodes],
        below[shape.end[nodes]],
        seen.visit[order],
        seen.units[order],
        visits=len(evidence),
    )
    moments = evidence.of_functions(functions[heaviest], sums, own=False)
    if moments is None:
        return tuple(found)
    for index, size in zip(heaviest.tolist(), estimate.effective(moments).tolist(), strict=True):
        found[index] = size
    return tuple(found)
