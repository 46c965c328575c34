"""Functions and the calls between them: /call-graph."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.encoded_response import as_json
from services.api.formats.documents import forms_of
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import Value
from services.api.parameters import BaseIfGiven, Selected
from services.api.profiles import graphviz
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.stack_files import FILES, StackFile, ValueOfStacks
from storage.query.answers.call_graph import CallGraphAnswer
from storage.query.query_engine import QueryEngine
from storage.query.shapes.call_graph import MOST_EDGES, MOST_NODES, CallGraphQuestion
from storage.query.shapes.stack_samples import StackSamplesQuestion


class _Query:
    """A request for a call graph. Calling it returns the answer."""

    def __init__(self, queries: QueryEngine, question: CallGraphQuestion, value: Value) -> None:
        self._queries = queries
        self._question = question
        self.stacks = StackFile(
            queries.ask, lambda: StackSamplesQuestion(question.selection), "call-graph", value=value
        )

    def __call__(self) -> CallGraphAnswer:
        return self._queries.ask(self._question)

    def dot(self) -> bytes:
        return graphviz.dot(self()).encode("utf-8", "replace")


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
        "of the selection. With a base, the graph has the heaviest functions and calls of both selections, "
        "and their shares in the base; Graphviz and files show the selection.",
        response_model=described_by(CallGraphAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def call_graph(
        *,
        request: Request,
        selection: Selected,
        base: BaseIfGiven,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Largest number of functions.")] = 80,
        edges: Annotated[int, Query(ge=0, le=MOST_EDGES, description="Largest number of calls.")] = 200,
        min_share: Annotated[
            float,
            Query(
                ge=0,
                le=1,
                description="Omit functions below this share, and calls below a fifth of it; with a base, those that are "
                "below on both sides.",
            ),
        ] = 0.0,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        question = CallGraphQuestion(selection, nodes, edges, min_share, base)
        return await handler.answer(request, _FORMS, _Query(handler.queries, question, value))
