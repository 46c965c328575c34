"""The call graph of a selection: functions with their shares, and the calls between them (DIGEST G17).

The graph has the heaviest functions by total, with the calls among them. `storage.query.shapes.call_edges` defines
calls and how often a stack counts. With a base, the graph has the functions that are heaviest in either selection, and
the shares of nodes and edges in both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis import estimate
from storage.arrays import Int64
from storage.query.answers.answer import extended
from storage.query.answers.call_graph import CallGraphAnswer, GraphEdge, GraphNode, HiddenCalls
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.visit_evidence import Details
from storage.query.estimation.visit_totals import Contributions
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.graph_sides import GraphCalls, GraphFunctions, GraphSide
from storage.query.shapes.side_shares import in_base
from storage.query.shapes.table_frames import brought_at
from storage.query.shapes.totals import totals

MOST_NODES = 500
MOST_EDGES = 2_000


@dataclass(frozen=True, slots=True)
class CallGraphQuestion:
    """The selection's heaviest functions and the calls among them; with a base, those of either side."""

    selection: Selection
    nodes: int = 80
    edges: int = 200
    min_share: float = 0.0
    """Share of the selection, 0…1: lighter functions are left out, and so are calls lighter than a fifth of it."""
    base: Selection | None = None
    """Its event is the selection's."""

    def answer(self, reading: Reading) -> CallGraphAnswer:
        """The graph. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        selections = (self.selection,) if self.base is None else (self.selection, self.base)
        sides = [GraphSide.of(reading.samples(side, frame="function")) for side in selections]
        functions = GraphFunctions.of(sides)
        heaviest = functions.heaviest(self.nodes, self.min_share)
        evidence = _Evidence.of(sides[0], functions.id[heaviest])
        nodes = _nodes(reading, evidence, functions, heaviest)
        calls = GraphCalls.of(sides, np.sort(functions.id[heaviest]))
        shown = calls.heaviest(self.edges, self.min_share / 5)
        kind, base = sides[0].samples.kind, sides[1:]
        return CallGraphAnswer(
            selection=selection_echo(self.selection, kind),
            totals=totals(reading.functions, sides[0].samples),
            nodes=nodes,
            edges=_edges(evidence, calls, shown, nodes),
            left_out=_left_out(functions, heaviest, calls, shown),
            base=None if self.base is None else selection_echo(self.base, kind),
            base_totals=totals(reading.functions, base[0].samples) if base else None,
        )


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The evidence of the selection's visits for some functions; those that it does not have are unseen."""

    row: Mapping[int, int]
    """By function id."""
    details: Details
    """By row."""
    unseen: Estimate | None

    @classmethod
    def of(cls, side: GraphSide, functions: Int64) -> "_Evidence":
        evidence = side.samples.evidence
        ids = np.intersect1d(functions, side.called.function)
        (unseen,) = estimates(evidence.nothing(), 1)
        return cls(
            {id_: row for row, id_ in enumerate(ids.tolist())},
            evidence.details(brought_to(side.samples, ids), ids),
            unseen,
        )


def _nodes(
    reading: Reading, evidence: _Evidence, functions: GraphFunctions, places: Int64
) -> tuple[GraphNode, ...]:
    details = evidence.details
    own, total = (estimates(found, len(evidence.row)) for found in (details.own, details.total))
    nodes = []
    for place in places.tolist():
        row = evidence.row.get(int(functions.id[place]))
        of_self, of_total = (evidence.unseen,) * 2 if row is None else (own[row], total[row])
        nodes.append(
            extended(
                GraphNode,
                reading.functions.row(int(functions.id[place])).named(),
                self=int(functions.own[place]),
                total=int(functions.total[place]),
                self_share=float(functions.own_share[0][place]),
                self_lo=None if of_self is None else of_self.share.lo,
                self_hi=None if of_self is None else of_self.share.hi,
                total_share=float(functions.total_share[0][place]),
                total_lo=None if of_total is None else of_total.share.lo,
                total_hi=None if of_total is None else of_total.share.hi,
                low_confidence=any(of is not None and of.low_confidence for of in (of_self, of_total)),
                visits=0 if row is None else details.visits[row],
                machines=0 if row is None else details.machines[row],
                **in_base(functions.own_share, functions.total_share, place),
            )
        )
    return tuple(nodes)


def _edges(
    evidence: _Evidence, calls: GraphCalls, places: Int64, nodes: Sequence[GraphNode]
) -> tuple[GraphEdge, ...]:
    number = {node.id: place for place, node in enumerate(nodes)}
    total = evidence.details.total
    effective = None if total is None else estimate.shares(total).effective
    edges = []
    for at in places.tolist():
        now, base = float(calls.share[0][at]), None
        caller, callee = number[int(calls.caller[at])], number[int(calls.callee[at])]
        lo, hi = None, None
        row = evidence.row.get(nodes[callee].id)
        if effective is not None and row is not None:
            lo, hi = estimate.share_at(now, float(effective[row]))
        if len(calls.share) > 1:
            base = float(calls.share[1][at])
        edges.append(
            GraphEdge(
                caller=caller,
                callee=callee,
                caller_function=nodes[caller].name,
                callee_function=nodes[callee].name,
                units=int(calls.units[at]),
                share=now,
                lo=lo,
                hi=hi,
                residual=bool(calls.residual[at]),
                b_share=base,
                delta=None if base is None else now - base,
            )
        )
    return tuple(edges)


def _left_out(functions: GraphFunctions, nodes: Int64, calls: GraphCalls, edges: Int64) -> HiddenCalls:
    hidden = np.setdiff1d(np.arange(len(functions.id)), nodes)
    rest = np.setdiff1d(np.arange(len(calls.caller)), edges)
    return HiddenCalls(
        len(hidden),
        min(float(functions.own_share[0][hidden].sum()), 1.0),
        float(functions.weight[hidden].max(initial=0.0)),
        len(rest),
        float(calls.weight[rest].max(initial=0.0)),
    )


def brought_to(samples: Samples, functions: Int64) -> Contributions:
    """The units of each visit in functions, as self and total; `functions` are ascending ids that the samples have."""
    evidence, shape, seen = samples.evidence, samples.shape, samples.visit_facts
    visits, rows = len(evidence), len(functions)
    row_of = np.full(int(max(shape.function.max(), functions.max(initial=0))) + 1, -1, np.int64)
    row_of[functions] = np.arange(rows)
    of_node = row_of[shape.function]
    return brought_at(shape, shape.outermost, of_node, seen, rows=rows, visits=visits, totals=True)
