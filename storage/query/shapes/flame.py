"""The flame graph of a selection: its prefix tree, cut to the heaviest nodes."""

from dataclasses import dataclass

import numpy as np

from storage.query.arrays import Float, Int32, Int64
from storage.query.facts.scan import SampleType
from storage.query.reader import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.design_effect import effective_sizes
from storage.query.shapes.totals import Totals, totals
from storage.query.stacks import prefix_tree
from storage.query.stacks.functions import FunctionRow, Functions

MOST_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Flame:
    """Nodes in depth-first preorder, children by descending total; node 0 is the root."""

    total: Int64
    """Units observed, pruned nodes included."""
    self: Int64
    """Without pruned nodes: a node may have more total than self and its children together."""
    total_weight: Float
    """Units of the fleet that `total` stands for; the same number without a random design."""
    self_weight: Float
    parent: Int32
    """−1 for the root."""
    function: Int32
    """Index into `functions`; the root has 0, a row that stands for all."""
    functions: tuple[FunctionRow, ...]
    effective: tuple[float | None, ...]
    """For each of `functions`, independent samples that would say as much about its total's share."""
    pruned_nodes: int
    pruned_share: float
    """Share of the units that are self of a pruned node, 0…1."""


@dataclass(frozen=True, slots=True)
class FlameAnswer:
    """A flame graph and what it was made of."""

    kind: SampleType
    totals: Totals
    flame: Flame


@dataclass(frozen=True, slots=True)
class FlameQuestion:
    """The selection's samples as a tree of calls of at most so many nodes."""

    selection: Selection
    nodes: int = 20_000

    def answer(self, reading: Reading) -> FlameAnswer:
        """The tree. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        samples = reading.samples(self.selection, frame="function")
        drawn = draw(reading.functions, samples, self.nodes)
        return FlameAnswer(samples.kind, totals(reading.functions, samples), drawn)


def draw(functions: Functions, samples: Samples, most: int) -> Flame:
    """The `most` heaviest nodes; a node is never there without its callers."""
    shape = samples.shape
    own = shape.self_at(samples.facts.units)
    totals = shape.totals(own)
    own_weight = np.where(own > 0, shape.weight_at(samples.weighted), 0.0)
    weights = shape.weight_totals(own_weight)
    used = np.flatnonzero(totals)
    if not len(used):
        used = np.array([prefix_tree.ROOT])
    # A caller weighs at least as much as its callees and stands before them: sorting keeps it first.
    kept = used[np.sort(np.argsort(-weights[used], kind="stable")[:most])]
    parent = np.where(shape.parent[kept] < 0, -1, np.searchsorted(kept, shape.parent[kept]))
    position, _ = prefix_tree.preorder(parent, shape.depth[kept], -weights[kept])
    order = kept[np.argsort(position)]
    ids, index = np.unique(shape.function[order], return_inverse=True)
    new_parent = np.full(len(kept), -1, np.int32)
    new_parent[position] = np.where(parent < 0, -1, position[parent])
    whole = float(own_weight.sum())
    return Flame(
        total=totals[order],
        self=own[order],
        total_weight=weights[order],
        self_weight=own_weight[order],
        parent=new_parent,
        function=index.astype(np.int32),
        functions=tuple(functions.row(id_) for id_ in ids.tolist()),
        effective=effective_sizes(samples, weights, ids),
        pruned_nodes=len(used) - len(kept),
        pruned_share=min(max(1 - float(own_weight[kept].sum()) / whole, 0.0), 1.0) if whole else 0.0,
    )
