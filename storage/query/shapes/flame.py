"""The flame graph of a selection: its tree of calls, or the inverted tree of callers, pruned to the heaviest nodes."""

from dataclasses import dataclass

from storage.errors import BadSelection
from storage.query.answers.flame import FlameAnswer, FlameFunction, FlameNodes, FlameSummary, Pruned
from storage.query.answers.totals import Totals
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import FRAME_KEYS
from storage.query.selections.selection import Selection
from storage.query.shapes.flame_nodes import Flame, Labelled, cut
from storage.query.shapes.frame_tree import Borne, FrameTree, below_labels, from_callees, from_callers
from storage.query.shapes.label_groups import label_groups
from storage.query.shapes.totals import totals
from storage.query.stacks.function_names import KINDS, STATUSES, FunctionRow, Functions

MOST_NODES = 200_000
MOST_LABELS = 4
DEEPEST = 256
"""Functions of a path; stacks have at most 128, and one or two markers."""


@dataclass(frozen=True, slots=True)
class FlameTree:
    """The answer of a flame graph before it is in the units of JSON."""

    kind: SampleType
    summary: FlameSummary
    flame: Flame
    path: tuple[FunctionRow, ...] = ()
    """From the root of the whole tree to the root of this tree, which is the last entry."""

    @property
    def totals(self) -> Totals:
        """The totals of the samples."""
        return self.summary.totals


@dataclass(frozen=True, slots=True)
class FlameParameters:
    """The parameters of a tree of a selection's samples with at most `nodes` nodes."""

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


@dataclass(frozen=True, slots=True)
class FlameTreeQuestion(FlameParameters):
    """The selection's samples as a tree in NumPy columns, for forms that are not JSON."""

    def answer(self, reading: Reading) -> FlameTree:
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
        summary = FlameSummary(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(reading.functions, samples),
            path=tuple(row.id for row in rows),
            inverted=self.inverted,
            by=self.by,
            pruned=Pruned(flame.pruned_nodes, flame.pruned_share),
        )
        return FlameTree(samples.kind, summary, flame, rows)

    def _grown(self, borne: Borne, path: tuple[int, ...]) -> FrameTree | None:
        return from_callees(borne, self.nodes, path) if self.inverted else from_callers(borne, path)

    def _labelled(self, reading: Reading, samples: Samples, path: tuple[int, ...]) -> Labelled | None:
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
class FlameQuestion(FlameParameters):
    """The selection's samples as a tree."""

    @property
    def tree(self) -> FlameTreeQuestion:
        """The question of the same tree as columns."""
        return FlameTreeQuestion(
            self.selection, self.nodes, self.root, self.inverted, self.min_share, self.by
        )

    def answer(self, reading: Reading) -> FlameAnswer:
        """The tree. Raises what `FlameTreeQuestion.answer` raises."""
        found = self.tree.answer(reading)
        summary = found.summary
        return FlameAnswer(
            selection=summary.selection,
            totals=summary.totals,
            path=summary.path,
            inverted=summary.inverted,
            by=summary.by,
            pruned=summary.pruned,
            functions=_functions(found.flame),
            nodes=_nodes(found.flame, found.kind.seconds_per_unit),
        )


def _functions(graph: Flame) -> tuple[FlameFunction, ...]:
    labels = graph.labels or [""] * len(graph.functions)
    return tuple(
        [
            FlameFunction(
                row.id,
                row.name,
                row.file,
                row.binary,
                STATUSES[row.status],
                KINDS[row.kind],
                label or None,
                effective,
            )
            for row, label, effective in zip(graph.functions, labels, graph.effective, strict=True)
        ]
    )


def _nodes(graph: Flame, scale: float | None) -> FlameNodes:
    factor = 1.0 if scale is None else scale
    return FlameNodes(
        total=tuple((graph.total_weight * factor).tolist()),
        self=tuple((graph.self_weight * factor).tolist()),
        pruned=tuple((graph.pruned_weight * factor).tolist()),
        parent=tuple(graph.parent.tolist()),
        function=tuple(graph.function.tolist()),
    )


def _present(functions: Functions, path: tuple[int, ...]) -> tuple[int, ...]:
    """The path in canonical function ids, as the tree has them."""
    canonical = functions.naming.canonical
    return tuple(int(canonical[f]) or f if f < len(canonical) else f for f in path)
