"""Effective sample sizes of functions' shares, for the intervals of flame graph nodes.

A node has no interval of its own: there may be 200 000 nodes. It borrows its function's design effect, and answers
state that (docs/numbers.md).
"""

import numpy as np

from analysis import estimate
from storage.arrays import Float, Int64
from storage.query.samples import Samples
from storage.query.shapes.table_frames import brought_at

_MOST = 400
"""Functions with an effective size, the heaviest ones: each costs a pass over its own facts."""


def effective_sizes(samples: Samples, weights: Float, functions: Int64) -> tuple[float | None, ...]:
    """Effective samples behind the total of each function; None: not among the heaviest, or no random design.

    `weights` are the nodes' totals in units of the fleet; `functions` ascend.
    """
    found: list[float | None] = [None] * len(functions)
    if samples.evidence.design.weights is None or not len(samples.facts.stack):
        return tuple(found)
    shape, seen, evidence = samples.shape, samples.visit_facts, samples.evidence
    size = int(max(shape.function.max(), functions[-1])) + 1
    weight = np.bincount(shape.function, weights=weights * shape.outermost, minlength=size)[functions]
    heaviest = np.argsort(-weight, kind="stable")[:_MOST]
    heaviest = np.sort(heaviest[weight[heaviest] > 0])  # the root is no function and has no weight
    row_of = np.full(size, -1, np.int64)
    row_of[functions[heaviest]] = np.arange(len(heaviest))
    found_by = brought_at(
        shape,
        shape.outermost,
        row_of[shape.function],
        seen,
        rows=len(heaviest),
        visits=len(evidence),
        totals=True,
    )
    moments = evidence.of_functions(functions[heaviest], found_by.total, own=False)
    if moments is None:
        return tuple(found)
    for index, size in zip(heaviest.tolist(), estimate.effective(moments).tolist(), strict=True):
        found[index] = size
    return tuple(found)
