"""How many independent samples a function's share is worth: what intervals of flame nodes are made of.

A node has no interval of its own: there may be 200 000. It borrows its function's design effect,
and answers say so (docs/numbers.md).
"""

import numpy as np

from analysis import estimate
from storage.query.arrays import Float, Int64
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
    order, below = shape.by_node(seen.leaf)
    nodes = np.flatnonzero(shape.outermost)
    place = np.searchsorted(functions, shape.function[nodes])
    place = np.minimum(place, len(functions) - 1)
    known = functions[place] == shape.function[nodes]
    nodes, place = nodes[known], place[known]
    starts, ends = below[nodes], below[shape.end[nodes]]
    weight = np.bincount(place, weights=weights[nodes], minlength=len(functions))
    heaviest = np.argsort(-weight, kind="stable")[:_MOST]
    heaviest = np.sort(heaviest[weight[heaviest] > 0])  # the root is nobody's function
    number = np.full(len(functions), -1, np.int64)
    number[heaviest] = np.arange(len(heaviest))
    chosen = np.flatnonzero(number[place] >= 0)
    chosen = chosen[np.argsort(number[place[chosen]], kind="stable")]
    first = np.searchsorted(number[place[chosen]], np.arange(len(heaviest) + 1))
    sums = by_visit.of_slices(
        first,
        starts[chosen],
        ends[chosen],
        seen.visit[order],
        seen.units[order],
        visits=len(evidence),
    )
    moments = evidence.of_functions(functions[heaviest], sums, own=False)
    if moments is None:
        return tuple(found)
    for index, size in zip(heaviest.tolist(), estimate.shares(moments).effective.tolist(), strict=True):
        found[index] = size
    return tuple(found)
