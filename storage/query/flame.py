"""The flame graph of a selection: its prefix tree, cut to the heaviest nodes."""

from dataclasses import dataclass

import numpy as np

from storage.query import prefix_tree
from storage.query.arrays import Int32, Int64
from storage.query.functions import FunctionRow, Functions
from storage.query.samples import Samples

MOST_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Flame:
    """Nodes in depth-first preorder, children by descending total; node 0 is the root."""

    total: Int64
    """Units of the sample type, pruned nodes included."""
    self: Int64
    """Without pruned nodes: a node may have more total than self and its children together."""
    parent: Int32
    """−1 for the root."""
    function: Int32
    """Index into `functions`; the root has 0, a row that stands for all."""
    functions: tuple[FunctionRow, ...]
    pruned_nodes: int
    pruned_share: float
    """Share of the units that are self of a pruned node, 0…1."""


def draw(functions: Functions, samples: Samples, most: int) -> Flame:
    """The `most` heaviest nodes; a node is never there without its callers."""
    shape = samples.shape
    own = shape.self_at(samples.facts.units)
    totals = shape.totals(own)
    used = np.flatnonzero(totals)
    if not len(used):
        used = np.array([prefix_tree.ROOT])
    # A caller weighs at least as much as its callees and stands before them: sorting keeps it first.
    kept = used[np.sort(np.argsort(-totals[used], kind="stable")[:most])]
    parent = np.where(shape.parent[kept] < 0, -1, np.searchsorted(kept, shape.parent[kept]))
    position, _ = prefix_tree.preorder(parent, shape.depth[kept], -totals[kept])
    order = kept[np.argsort(position)]
    ids, index = np.unique(shape.function[order], return_inverse=True)
    new_parent = np.full(len(kept), -1, np.int32)
    new_parent[position] = np.where(parent < 0, -1, position[parent])
    whole = int(own.sum())
    return Flame(
        total=totals[order],
        self=own[order],
        parent=new_parent,
        function=index.astype(np.int32),
        functions=tuple(functions.row(id_) for id_ in ids.tolist()),
        pruned_nodes=len(used) - len(kept),
        pruned_share=1 - int(own[kept].sum()) / whole if whole else 0.0,
    )
