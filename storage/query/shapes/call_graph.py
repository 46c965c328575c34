"""The call graph of a selection: functions with their shares, and the calls between them (DIGEST G17).

The graph has the heaviest functions by total, with the calls among them. `storage.query.shapes.call_edges` defines
calls and how often a stack counts.
"""

from dataclasses import dataclass

import numpy as np

from analysis import estimate
from storage.arrays import Float, Int64
from storage.query.estimation.estimates import Estimate, Interval, estimates
from storage.query.estimation.visit_totals import Contributions
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.call_edges import Calls, calls_between, functions_of
from storage.query.shapes.frame_tree import Borne
from storage.query.shapes.table_frames import brought_at
from storage.query.shapes.totals import Totals, totals
from storage.query.stacks.function_names import FunctionRow

MOST_NODES = 500
MOST_EDGES = 2_000


@dataclass(frozen=True, slots=True)
class CallNode:
    """One function; `self` and `total` in units of the sample type."""

    function: FunctionRow
    self: int
    total: int
    self_share: float
    """Share of the whole selection, 0…1; the observed share without a random design."""
    total_share: float
    visits: int | None
    """Visits with a sample in its total; None, like the next field, if merged cells do not record it."""
    machines: int | None
    own_estimate: Estimate | None
    """None, like the next field, without a random design."""
    total_estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class CallEdge:
    """One function calls another."""

    caller: int
    """Index into the nodes."""
    callee: int
    units: int
    """Units of the stacks with this call, each stack once."""
    share: Interval | None
    """Share of the whole selection, with the effective sample size of the callee's total; None: no random design."""
    weight_share: float
    """The share itself; the observed share without a random design."""
    residual: bool
    """Some of its stacks have hidden functions between caller and callee."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Summary of the functions and calls outside the graph."""

    nodes: int
    self_share: float
    """Share of the selection whose innermost function is hidden."""
    heaviest_node: float
    """Largest total share of a hidden function; 0 if all are shown."""
    edges: int
    """Hidden calls among the nodes shown."""
    heaviest_edge: float


@dataclass(frozen=True, slots=True)
class CallGraph:
    """Nodes by descending total, edges by descending weight."""

    nodes: tuple[CallNode, ...]
    edges: tuple[CallEdge, ...]
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class CallGraphAnswer:
    """A call graph and the totals of its samples."""

    kind: SampleType
    totals: Totals
    graph: CallGraph


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
        return CallGraphAnswer(
            samples.kind, totals(reading.functions, samples), self._graph(reading, samples)
        )

    def _graph(self, reading: Reading, samples: Samples) -> CallGraph:
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
        nodes = tuple(
            CallNode(
                function=reading.functions.row(int(called.function[place])),
                self=int(called.own[place]),
                total=int(called.total[place]),
                self_share=float(own_shares[place]),
                total_share=float(shares[place]),
                visits=details.visits[row],
                machines=details.machines[row],
                own_estimate=own[row],
                total_estimate=total[row],
            )
            for place, row in zip(heaviest.tolist(), back, strict=True)
        )
        calls = calls_between(borne, called.function[shown])
        effective = None if details.total is None else estimate.shares(details.total).effective
        edges, edges_out, heaviest_edge = self._edges(
            calls, called.function[heaviest], whole, effective, back
        )
        hidden = np.setdiff1d(np.arange(len(shares)), shown)
        left_out = LeftOut(
            len(hidden),
            min(float(own_shares[hidden].sum()), 1.0),
            float(shares[hidden].max(initial=0.0)),
            edges_out,
            heaviest_edge,
        )
        return CallGraph(nodes, edges, left_out)

    def _edges(
        self, calls: Calls, nodes: Int64, whole: float, effective: Float | None, back: list[int]
    ) -> tuple[tuple[CallEdge, ...], int, float]:
        """The edges, the number of hidden edges, and the share of the heaviest hidden edge."""
        shares = _shares(calls.weight, whole)
        order = np.argsort(-shares, kind="stable")
        chosen = order[: self.edges]
        chosen = chosen[shares[chosen] >= self.min_share / 5]
        rest = order[len(chosen) :]
        place = {function: number for number, function in enumerate(nodes.tolist())}
        edges = []
        for at in chosen.tolist():
            share, callee = float(shares[at]), place[int(calls.callee[at])]
            interval = None
            if effective is not None:
                lo, hi = estimate.share_at(share, float(effective[back[callee]]))
                interval = Interval(share, lo, hi)
            edges.append(
                CallEdge(
                    place[int(calls.caller[at])],
                    callee,
                    int(calls.units[at]),
                    interval,
                    share,
                    bool(calls.residual[at]),
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
