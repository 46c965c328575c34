"""The callers and callees of a function: one step on each side, and all steps as two trees (DIGEST G23).

If samples are read visit by visit, calls have intervals of their own. Merged cells do not record calls: a call then
borrows the design effect of the functions' total, like the nodes of the flame graph (docs/numbers.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis import estimate
from storage.arrays import Float
from storage.query.answers.answer import extended
from storage.query.answers.callers import CallersAnswer, CallRow, CallTree, Side
from storage.query.answers.figures import Interval
from storage.query.answers.table import TableRow
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_tree import FrameTree
from storage.query.shapes.occurrences import CallRows, Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.table import estimated, only_row, shown_rows
from storage.query.shapes.totals import totals
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.subject import Subject

MOST_ROWS = 1000
MOST_NODES = 100_000
MOST_NAMED = 100


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
        samples, functions = reading.samples(self.selection, frame="function"), reading.functions
        found, scale = Occurrences.of(functions, samples, self.subject), samples.kind.seconds_per_unit
        itself, lender = _itself(reading, samples, found)
        above, below = found.callers_tree(self.nodes), found.callees_tree(self.nodes)
        whole = itself.total_share
        callers = _calls("caller", samples, found.callers(), self.limit, lender, whole)
        callees = _calls("callee", samples, found.callees(), self.limit, lender, whole)
        return CallersAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(functions, samples),
            functions=tuple(functions.row(id_).named() for id_ in found.functions[:MOST_NAMED].tolist()),
            functions_total=len(found.functions),
            itself=itself,
            borrowed=lender is not None,
            rows=(*callers.rows, *callees.rows),
            callers_total=callers.rows_total,
            callers_remainder=callers.remainder_self,
            callees_total=callees.rows_total,
            callees_remainder=callees.remainder_self,
            above=_tree(functions, above, self.nodes, scale),
            below=_tree(functions, below, self.nodes, scale),
        )


def _tree(functions: Functions, tree: FrameTree, most: int, scale: float | None) -> CallTree:
    """The `most` heaviest nodes; a caller weighs at least as much as its callees and precedes them."""
    kept = tree.of(np.sort(np.argsort(-tree.total_weight, kind="stable")[:most]))
    position, _ = prefix_tree.preorder(kept.parent, kept.depth, -kept.total_weight)
    back = np.argsort(position)
    ids, index = np.unique(kept.function[back], return_inverse=True)
    whole, shown = float(tree.total_weight[0]), float(kept.own_weight.sum())
    factor = 1.0 if scale is None else scale
    return CallTree(
        functions=tuple(functions.row(id_).named() for id_ in ids.tolist()),
        total=tuple((kept.total_weight[back] * factor).tolist()),
        self=tuple((kept.own_weight[back] * factor).tolist()),
        parent=tuple(np.where(kept.parent < 0, -1, position[kept.parent])[back].tolist()),
        function=tuple(index.tolist()),
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


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls on one side, heaviest total first."""

    rows: tuple[CallRow, ...]
    """A row without function and key is that of stacks that begin with the queried functions."""
    rows_total: int
    remainder_self: int
    """Self of the rows that are not shown; for callers, this and the rows' self add up to the functions' self."""


def _calls(  # noqa: PLR0917 - all that calls depend on
    side: Side, samples: Samples, rows: CallRows, limit: int, lender: _Lender | None, whole: float
) -> _Calls:
    """The calls on this side; `whole` is the share of the functions' total."""
    order = ordered(rows, Page(Sort.TOTAL_DESC, limit))
    shown = order[:limit]
    found = shown_rows(samples, rows, shown)
    if lender is not None:
        own = lender.lent([row.self_share for row in found])
        total = lender.lent([row.total_share for row in found])
        found = tuple(
            replace(row, **estimated(own[place], total[place], samples.kind.seconds_per_unit))
            for place, row in enumerate(found)
        )
    calls = (
        extended(
            CallRow,
            row,
            side=side,
            of_function=min(row.total_share / whole, 1.0) if whole > 0 else 0.0,
        )
        for row in found
    )
    return _Calls(tuple(calls), len(order), int(rows.own.sum()) - int(rows.own[shown].sum()))


def _itself(reading: Reading, samples: Samples, found: Occurrences) -> tuple[TableRow, _Lender | None]:
    """The functions as one row, and the lender for calls; None: calls have their own intervals, or there are none."""
    rows, evidence = found.together(), samples.evidence
    row = only_row(samples, rows)
    if isinstance(evidence, Visits) or not len(rows.own):
        return row, None
    heaviest, scale = int(found.functions[0]), samples.kind.seconds_per_unit
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
        return replace(row, **estimated(own, total, scale)), lender
    known = replace(row, visits=details.visits[0], machines=details.machines[0])
    return replace(known, **estimated(own, total, scale)), lender
