"""A differential flame graph: the trees of calls of two selections as one, each node with its values in both."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int32
from storage.query.answers.flame_diff import (
    DiffFlameFunction,
    DiffFlameNodes,
    DiffFlamePruned,
    FlameDiffAnswer,
)
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_tree import Borne, FrameTree, from_root
from storage.query.shapes.totals import totals
from storage.query.shapes.union_tree import union
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import KINDS, STATUSES, FunctionRow, Functions


@dataclass(frozen=True, slots=True)
class FlameSide:
    """The values of one of the two selections in each node, in units of the fleet."""

    total: Float
    """With pruned nodes."""
    self: Float
    whole: float
    """Total of the whole selection, before `focus` and other frame filters; the denominator of shares."""

    @property
    def share(self) -> Float:
        """Share of each node's total, 0…1."""
        return self.total / self.whole if self.whole > 0 else np.zeros(len(self.total))


@dataclass(frozen=True, slots=True)
class FlameDiff:
    """Nodes in depth-first preorder, children by the descending sum of both sides' shares; node 0 is the root."""

    now: FlameSide
    base: FlameSide
    parent: Int32
    """−1 for the root."""
    function: Int32
    """Index into `functions`."""
    functions: tuple[FunctionRow, ...]
    pruned_nodes: int
    pruned_share: float
    """Largest share of a pruned node on either side."""

    @property
    def delta(self) -> Float:
        """Share now minus share in the base, for each node's total."""
        return self.now.share - self.base.share


@dataclass(frozen=True, slots=True)
class FlameDiffQuestion:
    """The call trees of a selection and its base as one tree of at most `nodes` nodes.

    The base's event is the selection's.
    """

    selection: Selection
    base: Selection
    nodes: int = 20_000
    min_share: float = 0.0
    """0…1: nodes that are lighter on both sides are pruned."""

    def answer(self, reading: Reading) -> FlameDiffAnswer:
        """The tree. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        sides = [reading.samples(side, frame="function") for side in (self.selection, self.base)]
        trees = [from_root(Borne.of(side.shape, side.facts.units, side.weighted)) for side in sides]
        found = together(
            trees[0],
            trees[1],
            (sides[0].whole, sides[1].whole),
            reading.functions,
            most=self.nodes,
            min_share=self.min_share,
        )
        now, base = sides
        scale = now.kind.seconds_per_unit
        factor = 1.0 if scale is None else scale
        return FlameDiffAnswer(
            selection=selection_echo(self.selection, now.kind),
            base=selection_echo(self.base, now.kind),
            totals=totals(reading.functions, now),
            base_totals=totals(reading.functions, base),
            whole=found.now.whole * factor,
            base_whole=found.base.whole * factor,
            functions=tuple(map(_function, found.functions)),
            pruned=DiffFlamePruned(found.pruned_nodes, min(found.pruned_share, 1.0)),
            nodes=_nodes(found, factor),
        )


def _function(row: FunctionRow) -> DiffFlameFunction:
    return DiffFlameFunction(row.id, row.name, row.file, row.binary, STATUSES[row.status], KINDS[row.kind])


def _nodes(flame: FlameDiff, factor: float) -> DiffFlameNodes:
    """The columns; `factor` is the core-seconds of a unit."""
    return DiffFlameNodes(
        total=tuple((flame.now.total * factor).tolist()),
        self=tuple((flame.now.self * factor).tolist()),
        base_total=tuple((flame.base.total * factor).tolist()),
        base_self=tuple((flame.base.self * factor).tolist()),
        delta=tuple(flame.delta.tolist()),
        parent=tuple(flame.parent.tolist()),
        function=tuple(flame.function.tolist()),
    )


def together(
    now: FrameTree,
    base: FrameTree,
    wholes: tuple[float, float],
    functions: Functions,
    *,
    most: int,
    min_share: float,
) -> FlameDiff:
    """Both trees as one, pruned to the nodes with the largest share on either side."""
    both = union(now, base)
    sides = [
        FlameSide(both.spread(number, tree.total_weight), both.spread(number, tree.own_weight), whole)
        for number, (tree, whole) in enumerate(zip((now, base), wholes, strict=True))
    ]
    weight = np.maximum(sides[0].share, sides[1].share)
    # A caller has at least its callees' shares on both sides and precedes them: a stable sort keeps it first.
    order = np.argsort(-weight, kind="stable")
    chosen = order[:most]
    chosen = np.sort(chosen[(weight[chosen] >= min_share) | (chosen == prefix_tree.ROOT)])
    gone = np.setdiff1d(np.arange(len(both)), chosen)
    parent = np.where(both.parent[chosen] < 0, -1, np.searchsorted(chosen, both.parent[chosen]))
    rank = -(sides[0].share + sides[1].share)[chosen]
    position, _ = prefix_tree.preorder(parent, both.depth[chosen], rank)
    back = np.argsort(position)
    ids, index = np.unique(both.function[chosen][back], return_inverse=True)
    shown = [FlameSide(side.total[chosen][back], side.self[chosen][back], side.whole) for side in sides]
    return FlameDiff(
        now=shown[0],
        base=shown[1],
        parent=np.where(parent < 0, -1, position[parent])[back].astype(np.int32),
        function=index.astype(np.int32),
        functions=tuple(functions.row(id_) for id_ in ids.tolist()),
        pruned_nodes=len(gone),
        pruned_share=float(weight[gone].max(initial=0.0)),
    )
