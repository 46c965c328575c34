"""The callers and callees of a function: one step on each side, and all steps as two trees (DIGEST G23).

If samples are read visit by visit, calls have intervals of their own. Merged cells do not record calls: a call then
borrows the design effect of the functions' total, like the nodes of the flame graph (docs/numbers.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis import estimate
from storage.arrays import Float, Int64
from storage.query.estimation.estimates import Estimate, Interval, estimates
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_tree import FrameTree
from storage.query.shapes.occurrences import CallRows, Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.table import Row, only_row, shown_rows
from storage.query.shapes.totals import Totals, totals
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.subject import Subject

MOST_ROWS = 1000
MOST_NODES = 100_000
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls on one side, heaviest total first."""

    rows: tuple[Row, ...]
    """A row without function and key is that of stacks that begin with the queried functions."""
    rows_total: int
    remainder_self: int
    """Self of the rows that are not shown; for callers, this and the rows' self add up to the functions' self."""


@dataclass(frozen=True, slots=True)
class CallTree:
    """Columns over nodes in depth-first preorder, children by descending total; node 0 is the queried functions."""

    total: Int64
    """Observed units."""
    total_weight: Float
    """Units of the fleet, like the next field."""
    self_weight: Float
    parent: Int64
    """−1 for node 0."""
    function: Int64
    """Index into `functions`."""
    functions: tuple[FunctionRow, ...]
    pruned_nodes: int
    """Pruned nodes; a lower bound, since nodes below light ones are not counted."""
    pruned_share: float
    """Share of node 0 that is self of pruned nodes, 0…1."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Some functions with their callers and callees."""

    functions: tuple[FunctionRow, ...]
    """The functions found; at most `MOST_NAMED`, the heaviest ones."""
    functions_total: int
    itself: Row
    """All of them as one row: a stack counts once."""
    borrowed: bool
    """Intervals of calls are borrowed from the functions' design effect."""
    callers: Calls
    callees: Calls
    above: CallTree
    """The inverted tree: the root stands for the functions, their callers are below it. Shares are of the root."""
    below: CallTree


@dataclass(frozen=True, slots=True)
class CallersAnswer:
    """Callers and callees, and the totals of the selection."""

    kind: SampleType
    totals: Totals
    callers: Callers


@dataclass(frozen=True, slots=True)
class CallersQuestion:
    """The callers and callees of some functions in the selection's stacks."""

    selection: Selection
    subject: Subject
    limit: int = 100
    """Rows on each side."""
    nodes: int = 2000
    """Most nodes of each tree."""

    def answer(self, reading: Reading) -> CallersAnswer:
        """The calls; none if no stack has the functions. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        samples = reading.samples(self.selection, frame="function")
        found = around(reading, samples, self.subject, limit=self.limit, nodes=self.nodes)
        return CallersAnswer(samples.kind, totals(reading.functions, samples), found)


def around(reading: Reading, samples: Samples, subject: Subject, *, limit: int, nodes: int) -> Callers:
    """The subject's callers and callees in these samples."""
    functions = reading.functions
    found = Occurrences.of(functions, samples, subject)
    itself, lender = _itself(reading, samples, found)
    above, below = found.callers_tree(nodes), found.callees_tree(nodes)
    return Callers(
        functions=tuple(functions.row(id_) for id_ in found.functions[:MOST_NAMED].tolist()),
        functions_total=len(found.functions),
        itself=itself,
        borrowed=lender is not None,
        callers=_side(samples, found.callers(), limit, lender),
        callees=_side(samples, found.callees(), limit, lender),
        above=_cut(functions, above, nodes),
        below=_cut(functions, below, nodes),
    )


def _cut(functions: Functions, tree: FrameTree, most: int) -> CallTree:
    """The `most` heaviest nodes; a caller weighs at least as much as its callees and precedes them."""
    kept = tree.of(np.sort(np.argsort(-tree.total_weight, kind="stable")[:most]))
    position, _ = prefix_tree.preorder(kept.parent, kept.depth, -kept.total_weight)
    back = np.argsort(position)
    ids, index = np.unique(kept.function[back], return_inverse=True)
    whole, shown = float(tree.total_weight[0]), float(kept.own_weight.sum())
    return CallTree(
        total=kept.total[back],
        total_weight=kept.total_weight[back],
        self_weight=kept.own_weight[back],
        parent=np.where(kept.parent < 0, -1, position[kept.parent])[back],
        function=index.astype(np.int64),
        functions=tuple(functions.row(id_) for id_ in ids.tolist()),
        pruned_nodes=len(tree) - len(kept),
        pruned_share=min(max(1 - shown / whole, 0.0), 1.0) if whole else 0.0,
    )


@dataclass(frozen=True, slots=True)
class _Lender:
    """The design effect that rows borrow."""

    whole: float
    effective: float
    low_confidence: bool

    def lent(self, shares: Sequence[float]) -> list[Estimate]:
        """Estimates for shares of the functions' total."""
        values: Float = np.array(shares, np.float64)
        lo, hi = estimate.share_interval(values, self.effective)
        return [
            Estimate(interval, interval.scaled(self.whole), self.low_confidence)
            for interval in map(Interval, values.tolist(), lo.tolist(), hi.tolist())
        ]


def _side(samples: Samples, rows: CallRows, limit: int, lender: _Lender | None) -> Calls:
    order = ordered(rows, Page(Sort.TOTAL_DESC, limit))
    shown = order[:limit]
    found = shown_rows(samples, rows, shown)
    if lender is not None:
        own = lender.lent([row.self_share for row in found])
        total = lender.lent([row.total_share for row in found])
        found = tuple(
            replace(row, own_estimate=own[place], total_estimate=total[place])
            for place, row in enumerate(found)
        )
    return Calls(found, len(order), int(rows.own.sum()) - int(rows.own[shown].sum()))


def _itself(reading: Reading, samples: Samples, found: Occurrences) -> tuple[Row, _Lender | None]:
    """The functions as one row, and the lender for calls; None: calls have their own intervals, or there are none."""
    rows, evidence = found.together(), samples.evidence
    row = only_row(samples, rows)
    if isinstance(evidence, Visits) or not len(rows.own):
        return row, None
    heaviest = int(found.functions[0])
    alone = Occurrences.of(reading.functions, samples, Subject(heaviest)).together()
    details = evidence.details(alone.contributions(np.zeros(1, np.int64)), np.array([heaviest]))
    (own,), (total,) = estimates(details.own, 1), estimates(details.total, 1)
    if details.total is None or total is None:
        return row, None
    lender = _Lender(samples.whole, float(estimate.shares(details.total).effective[0]), total.low_confidence)
    if (
        len(found.functions) > 1
    ):  # cells have no moments of several functions as one: borrow from the heaviest
        own, total = lender.lent([row.self_share, row.total_share])
        return replace(row, own_estimate=own, total_estimate=total), lender
    known = replace(row, visits=details.visits[0], machines=details.machines[0])
    return replace(known, own_estimate=own, total_estimate=total), lender
