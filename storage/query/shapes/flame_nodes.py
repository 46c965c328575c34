"""The nodes of a flame graph as NumPy columns, pruned to the heaviest.

A node's total is the sum of its self, its children's totals, and what was pruned below it.
"""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int32, Int64, distinct
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.samples import Samples
from storage.query.shapes.design_effect import effective_sizes
from storage.query.shapes.frame_tree import Borne, FrameTree
from storage.query.stacks.function_names import FunctionRow, Functions


@dataclass(frozen=True, slots=True)
class Flame:
    """Nodes in depth-first preorder, children by descending total; node 0 is the root."""

    total: Int64
    """Observed units, with pruned nodes."""
    self: Int64
    """Without pruned nodes: a node's total may exceed the sum of its self and its children's totals."""
    total_weight: Float
    """Units of the fleet that `total` stands for; equal to it without a random design."""
    self_weight: Float
    parent: Int32
    """−1 for the root."""
    function: Int32
    """Index into `functions`; the root's entry stands for all, or is the function that the tree starts below."""
    functions: tuple[FunctionRow, ...]
    effective: tuple[float | None, ...]
    """For each of `functions`, the effective sample size of its total's share."""
    pruned_nodes: int
    """In an inverted tree a lower bound: nodes below a light node are not counted."""
    pruned_share: float
    """Share of the units that are self of pruned nodes, 0…1."""
    labels: tuple[str, ...] = ()
    """For each of `functions`, the label that it is a value of, or empty. The whole tuple is empty without labels."""

    @property
    def pruned_weight(self) -> Float:
        """Units of the fleet below each node in pruned nodes."""
        units, weight = self.self.copy(), self.self_weight.copy()
        np.add.at(units, self.parent[1:], self.total[1:])
        np.add.at(weight, self.parent[1:], self.total_weight[1:])
        # Observed units are exact: they show which differences of weights are rounding errors.
        return np.where(units < self.total, np.maximum(self.total_weight - weight, 0.0), 0.0)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A tree, and the (label, value) of each of its label frames −1, −2, …."""

    tree: FrameTree
    frames: tuple[tuple[str, str], ...] = ()

    def rows(self, functions: Functions, ids: Int64) -> tuple[FunctionRow, ...]:
        """Names of the tree's frames; `ids` must be ascending."""
        labels = ids[ids < 0].tolist()
        return (
            *(FunctionRow(i, self.frames[-1 - i][1], "", "", Status.FULL, Kind.MARKER) for i in labels),
            *functions.rows(ids[len(labels) :]),
        )

    def label(self, function: int) -> str:
        """The label that the frame is a value of; empty for a function."""
        return "" if function >= 0 else self.frames[-1 - function][0]


def cut(
    labelled: Labelled,
    functions: Functions,
    samples: Samples,
    borne: Borne,
    *,
    most: int,
    min_share: float,
) -> Flame:
    """The `most` heaviest nodes of the tree of these samples, without those below `min_share` of its root."""
    tree = labelled.tree
    kept = tree.of(tree.heaviest(most, min_share))
    position = kept.by_weight()
    back = np.empty(len(position), np.int64)
    back[position] = np.arange(len(position))
    lowest = min(int(kept.function.min()), 0)  # a label's value
    ids, index = distinct(kept.function[back] - lowest)
    ids = ids + lowest
    whole = float(tree.total_weight[0])
    shown = float(kept.own_weight.sum())
    effective = effective_sizes(samples, borne.total_weight, ids[ids >= 0])
    return Flame(
        total=kept.total[back],
        self=kept.own[back],
        total_weight=kept.total_weight[back],
        self_weight=kept.own_weight[back],
        parent=np.where(kept.parent < 0, -1, position[kept.parent])[back].astype(np.int32),
        function=index.astype(np.int32),
        functions=labelled.rows(functions, ids),
        effective=(*[None] * int((ids < 0).sum()), *effective),
        pruned_nodes=len(tree) - len(kept),
        # Sums in another order differ in the last digits, so nothing pruned is not computed from them.
        pruned_share=min(max(1 - shown / whole, 0.0), 1.0) if whole and len(kept) < len(tree) else 0.0,
        labels=tuple(labelled.label(id_) for id_ in ids.tolist()) if labelled.frames else (),
    )
