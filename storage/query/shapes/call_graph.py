"""The call graph of a selection: functions with their shares, and the calls between them (DIGEST G17).

The graph has the heaviest functions by total, with the calls among them. `storage.query.shapes.call_edges` defines
calls and how often a stack counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis import estimate
from storage.arrays import Float, Int64
from storage.query.answers.answer import extended
from storage.query.answers.call_graph import CallGraphAnswer, GraphEdge, GraphNode, HiddenCalls
from storage.query.estimation.estimates import estimates
from storage.query.estimation.visit_totals import Contributions
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.call_edges import Calls, calls_between, functions_of
from storage.query.shapes.frame_tree import Borne
from storage.query.shapes.table_frames import brought_at
from storage.query.shapes.totals import totals

MOST_NODES = 500
MOST_EDGES = 2_000


@dataclass(frozen=True, slots=True)
class CallGraphQuestion:
    """The selection's heaviest functions and the calls among them."""

    selection: Selection
    nodes: int = 80
    edges: int = 200
    min_share: float = 0.0
    """Share of the selection, 0…1: lighter functions are left out, and so are calls lighter than a fifth of it."""

    def answer(self, reading: Reading) -> CallGraphAnswer:
        """The graph. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        samples = reading.samples(self.selection, frame="function")
        whole = samples.whole
        borne = Borne.of(samples.shape, samples.facts.units, samples.weighted)
        called = functions_of(borne)
        shares = _shares(called.total_weight, whole)
        heaviest = np.lexsort((called.function, -called.own_weight, -called.total_weight))[: self.nodes]
        heaviest = heaviest[shares[heaviest] >= self.min_share]
        shown = np.sort(heaviest)
        details = samples.evidence.details(
            brought_to(samples, called.function[shown]), called.function[shown]
        )
        own, total = (estimates(found, len(shown)) for found in (details.own, details.total))
        back = np.searchsorted(shown, heaviest).tolist()
        own_shares = _shares(called.own_weight, whole)
        nodes = []
        for place, row in zip(heaviest.tolist(), back, strict=True):
            function = reading.functions.row(int(called.function[place])).named()
            of_self, of_total = own[row], total[row]
            nodes.append(
                extended(
                    GraphNode,
                    function,
                    self=int(called.own[place]),
                    total=int(called.total[place]),
                    self_share=float(own_shares[place]),
                    self_lo=None if of_self is None else of_self.share.lo,
                    self_hi=None if of_self is None else of_self.share.hi,
                    total_share=float(shares[place]),
                    total_lo=None if of_total is None else of_total.share.lo,
                    total_hi=None if of_total is None else of_total.share.hi,
                    low_confidence=any(of is not None and of.low_confidence for of in (of_self, of_total)),
                    visits=details.visits[row],
                    machines=details.machines[row],
                )
            )
        calls = calls_between(borne, called.function[shown])
        effective = None if details.total is None else estimate.shares(details.total).effective
        edges, edges_out, heaviest_edge = self._edges(calls, nodes, whole, effective, back)
        hidden = np.setdiff1d(np.arange(len(shares)), shown)
        left_out = HiddenCalls(
            len(hidden),
            min(float(own_shares[hidden].sum()), 1.0),
            float(shares[hidden].max(initial=0.0)),
            edges_out,
            heaviest_edge,
        )
        return CallGraphAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(reading.functions, samples),
            nodes=tuple(nodes),
            edges=edges,
            left_out=left_out,
        )

    def _edges(
        self,
        calls: Calls,
        nodes: Sequence[GraphNode],
        whole: float,
        effective: Float | None,
        back: list[int],
    ) -> tuple[tuple[GraphEdge, ...], int, float]:
        """The edges, the number of hidden edges, and the share of the heaviest hidden edge."""
        shares = _shares(calls.weight, whole)
        order = np.argsort(-shares, kind="stable")
        chosen = order[: self.edges]
        chosen = chosen[shares[chosen] >= self.min_share / 5]
        rest = order[len(chosen) :]
        place = {node.id: number for number, node in enumerate(nodes)}
        edges = []
        for at in chosen.tolist():
            share = float(shares[at])
            caller, callee = place[int(calls.caller[at])], place[int(calls.callee[at])]
            lo, hi = None, None
            if effective is not None:
                lo, hi = estimate.share_at(share, float(effective[back[callee]]))
            edges.append(
                GraphEdge(
                    caller=caller,
                    callee=callee,
                    caller_function=nodes[caller].name,
                    callee_function=nodes[callee].name,
                    units=int(calls.units[at]),
                    share=share,
                    lo=lo,
                    hi=hi,
                    residual=bool(calls.residual[at]),
                )
            )
        return tuple(edges), len(rest), float(shares[rest].max(initial=0.0))


def brought_to(samples: Samples, functions: Int64) -> Contributions:
    """The units of each visit in functions, as self and total; `functions` are ascending ids that the samples have."""
    evidence, shape, seen = samples.evidence, samples.shape, samples.visit_facts
    visits, rows = len(evidence), len(functions)
    row_of = np.full(int(max(shape.function.max(), functions.max(initial=0))) + 1, -1, np.int64)
    row_of[functions] = np.arange(rows)
    of_node = row_of[shape.function]
    return brought_at(shape, shape.outermost, of_node, seen, rows=rows, visits=visits, totals=True)


def _shares(weight: Float, whole: float) -> Float:
    return np.clip(weight / whole, 0.0, 1.0) if whole > 0 else np.zeros(len(weight))
