"""Functions and the calls between them: /call-graph."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.encoded_response import as_json
from services.api.formats.documents import forms_of
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import Value
from services.api.parameters import Selected
from services.api.profiles import graphviz
from services.api.profiles.functions import KindName, StatusName, function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.stack_files import FILES, StackFile, ValueOfStacks
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.query_engine import QueryEngine
from storage.query.shapes.call_graph import (
    MOST_EDGES,
    MOST_NODES,
    CallEdge,
    CallGraph,
    CallGraphQuestion,
    CallNode,
)
from storage.query.shapes.call_graph import CallGraphAnswer as FoundGraph
from storage.query.shapes.stack_samples import StackSamplesQuestion


class GraphNode(Answer):
    """A function."""

    id: int
    name: str
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName
    self: int = Field(description="Observed units of samples whose innermost function this is.")
    total: int = Field(description="Observed units of stacks that contain it; each stack counts once.")
    self_share: float = Field(description="Estimated share of the whole selection.", ge=0, le=1)
    self_lo: float | None = Field(
        description="95 % interval. Null without a random design, as in the other intervals.", ge=0, le=1
    )
    self_hi: float | None = Field(ge=0, le=1)
    total_share: float = Field(ge=0, le=1)
    total_lo: float | None = Field(ge=0, le=1)
    total_hi: float | None = Field(ge=0, le=1)
    low_confidence: bool = Field(
        description="Low confidence: too few visits contribute for a narrow interval."
    )
    visits: int | None = Field(
        description="Visits with a sample in its total. Null if merged cells were read, which do not count visits."
    )
    machines: int | None


class GraphEdge(Answer):
    """One function calls another; a stack counts once, however often the call occurs in it."""

    caller: int = Field(description="Index into `nodes`.")
    callee: int
    caller_function: str
    callee_function: str
    units: int = Field(description="Observed units.")
    share: float = Field(description="Estimated share of the whole selection.", ge=0, le=1)
    lo: float | None = Field(
        description="95 % interval, from the effective number of samples of the callee's total.",
        ge=0,
        le=1,
    )
    hi: float | None = Field(ge=0, le=1)
    residual: bool = Field(
        description="Some of its stacks have functions in between that the graph does not show."
    )


class LeftOut(Answer):
    """The part of the graph that is not shown."""

    nodes: int
    self_share: float = Field(
        description="Share of the selection whose innermost function is not shown.", ge=0, le=1
    )
    heaviest_node: float = Field(description="Largest total share of a function not shown.", ge=0, le=1)
    edges: int = Field(description="Calls among the functions shown.")
    heaviest_edge: float = Field(description="Largest share of a call not shown.", ge=0, le=1)


class CallGraphAnswer(Answer):
    """The heaviest functions of a selection, and the calls among them."""

    selection: SelectionEcho
    totals: TotalsAnswer
    nodes: list[GraphNode] = Field(description="By descending total.")
    edges: list[GraphEdge] = Field(description="By descending share.")
    left_out: LeftOut


def call_graph_document(question: CallGraphQuestion, found: FoundGraph) -> Json:
    """The answer of /call-graph."""
    graph = found.graph
    out = graph.left_out
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, found.kind.seconds_per_unit),
        "nodes": [_node(node) for node in graph.nodes],
        "edges": [_edge(graph, edge) for edge in graph.edges],
        "left_out": {
            "nodes": out.nodes,
            "self_share": out.self_share,
            "heaviest_node": out.heaviest_node,
            "edges": out.edges,
            "heaviest_edge": out.heaviest_edge,
        },
    }


class _Query:
    """A request for a call graph. Calling it returns the document."""

    def __init__(self, queries: QueryEngine, question: CallGraphQuestion, value: Value) -> None:
        self._queries = queries
        self._question = question
        self.stacks = StackFile(
            queries.ask, lambda: StackSamplesQuestion(question.selection), "call-graph", value=value
        )

    def __call__(self) -> Json:
        return call_graph_document(self._question, self._queries.ask(self._question))

    def dot(self) -> bytes:
        return graphviz.dot(self._queries.ask(self._question).graph).encode("utf-8", "replace")


_DOCUMENTS = forms_of(CallGraphAnswer, "edges")
_FORMS: Forms[_Query] = Forms(
    (
        Form("json", "application/json", "json", lambda query: as_json(query())[0]),
        Form("dot", graphviz.MEDIA_TYPE, "gv", _Query.dot, parameters="; charset=utf-8"),
        *_DOCUMENTS.forms[1:],
        *FILES,
    )
)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/call-graph",
        summary="The call graph of a selection",
        description="The heaviest functions of a selection and the calls among them. A stack counts once for a function "
        "or a call, even with recursion. CSV and Arrow have one row per call; `Accept: "
        f"{graphviz.MEDIA_TYPE}` gets the graph in Graphviz's language. Files of stacks contain all stacks "
        "of the selection.",
        response_model=CallGraphAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def call_graph(
        *,
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Largest number of functions.")] = 80,
        edges: Annotated[int, Query(ge=0, le=MOST_EDGES, description="Largest number of calls.")] = 200,
        min_share: Annotated[
            float,
            Query(ge=0, le=1, description="Omit functions below this share, and calls below a fifth of it."),
        ] = 0.0,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        question = CallGraphQuestion(selection, nodes, edges, min_share)
        return await handler.answer(request, _FORMS, _Query(handler.queries, question, value))


def _node(node: CallNode) -> Json:
    own, total = node.own_estimate, node.total_estimate
    return {
        **function_document(node.function),
        "self": node.self,
        "total": node.total,
        "self_share": node.self_share,
        "self_lo": own and own.share.lo,
        "self_hi": own and own.share.hi,
        "total_share": node.total_share,
        "total_lo": total and total.share.lo,
        "total_hi": total and total.share.hi,
        "low_confidence": bool((own and own.low_confidence) or (total and total.low_confidence)),
        "visits": node.visits,
        "machines": node.machines,
    }


def _edge(graph: CallGraph, edge: CallEdge) -> Json:
    return {
        "caller": edge.caller,
        "callee": edge.callee,
        "caller_function": graph.nodes[edge.caller].function.name,
        "callee_function": graph.nodes[edge.callee].function.name,
        "units": edge.units,
        "share": edge.weight_share,
        "lo": edge.share and edge.share.lo,
        "hi": edge.share and edge.share.hi,
        "residual": edge.residual,
    }
