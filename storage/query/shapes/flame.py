"""The flame graph of a selection: its tree of calls, or the inverted tree of callers, pruned to the heaviest nodes.

A node's total is the sum of its self, its children's totals, and what was pruned below it.
"""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int32, Int64, distinct
from storage.errors import BadSelection
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import FRAME_KEYS
from storage.query.selections.selection import Selection
from storage.query.shapes.design_effect import effective_sizes
from storage.query.shapes.frame_tree import Borne, FrameTree, below_labels, from_callees, from_callers
from storage.query.shapes.label_groups import label_groups
from storage.query.shapes.totals import Totals, totals
from storage.query.stacks.function_names import FunctionRow, Functions

MOST_NODES = 200_000
MOST_LABELS = 4
DEEPEST = 256
"""Functions of a path; stacks have at most 128, and one or two markers."""


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
class FlameAnswer:
    """A flame graph and the totals of its samples."""

    kind: SampleType
    totals: Totals
    flame: Flame
    path: tuple[FunctionRow, ...] = ()
    """From the root of the whole tree to the root of this tree, which is the last entry."""


@dataclass(frozen=True, slots=True)
class FlameQuestion:
    """The selection's samples as a tree of at most `nodes` nodes."""

    selection: Selection
    nodes: int = 20_000
    root: tuple[int, ...] = ()
    """Start the tree below this path of functions: from the outermost on, in an inverted tree from the innermost."""
    inverted: bool = False
    """Callees above their callers."""
    min_share: float = 0.0
    """Share of the tree's root, 0…1: lighter nodes are pruned, whatever `nodes` allows."""
    by: tuple[str, ...] = ()
    """Labels whose values are the first levels of the tree, above all functions."""

    def __post_init__(self) -> None:
        if len(self.by) > MOST_LABELS or len(set(self.by)) < len(self.by):
            raise BadSelection(
                f"A flame graph is grouped by at most {MOST_LABELS} different labels.", parameter="by"
            )
        for key in self.by:
            if key in FRAME_KEYS:
                raise BadSelection(
                    f"A flame graph cannot be grouped by {key}, because its nodes are functions.",
                    hint="Use labels, e.g. by=application.",
                    parameter="by",
                )
        if len(self.root) > DEEPEST or not all(0 < function < 1 << 31 for function in self.root):
            raise BadSelection(
                "`root` must be a path of function ids above 0.",
                hint="Copy the ids from `functions`, from a child of the root down to the node.",
                parameter="root",
            )

    def answer(self, reading: Reading) -> FlameAnswer:
        """The tree. Raises `BadSelection`, also if no stack has the path; `UnknownCampaign`, `DatabaseError`."""
        samples = reading.samples(self.selection, self.by, "function")
        path = _present(reading.functions, self.root)
        borne = Borne.of(samples.shape, samples.facts.units, samples.weighted)
        labelled = self._labelled(reading, samples, path) if self.by else None
        if labelled is None:
            tree = self._grown(borne, path)
            if tree is None:
                raise BadSelection(
                    "No stack of the selection has the path in `root`.",
                    hint="Choose the node again in this selection's tree; inverted trees have other paths.",
                    parameter="root",
                )
            labelled = Labelled(tree)
        flame = cut(labelled, reading.functions, samples, borne, most=self.nodes, min_share=self.min_share)
        rows = tuple(reading.functions.row(function) for function in path)
        return FlameAnswer(samples.kind, totals(reading.functions, samples), flame, rows)

    def _grown(self, borne: Borne, path: tuple[int, ...]) -> FrameTree | None:
        return from_callees(borne, self.nodes, path) if self.inverted else from_callers(borne, path)

    def _labelled(self, reading: Reading, samples: Samples, path: tuple[int, ...]) -> "Labelled | None":
        """The tree below labels; None: no stack has the path."""
        trees: list[tuple[tuple[str, ...], FrameTree]] = []
        for group in label_groups(reading, samples, self.by):
            part = group.samples
            tree = self._grown(Borne.of(part.shape, part.facts.units, part.weighted), path)
            if tree is not None:
                trees.append((group.values, tree))
        if not trees:
            return None
        tree, frames = below_labels(trees)
        return Labelled(tree, tuple((self.by[level], value) for level, value in frames))


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


def _present(functions: Functions, path: tuple[int, ...]) -> tuple[int, ...]:
    """The path in canonical function ids, as the tree has them."""
    canonical = functions.naming.canonical
    return tuple(int(canonical[f]) or f if f < len(canonical) else f for f in path)


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
        pruned_share=min(max(1 - shown / whole, 0.0), 1.0) if whole else 0.0,
        labels=tuple(labelled.label(id_) for id_ in ids.tolist()) if labelled.frames else (),
    )
