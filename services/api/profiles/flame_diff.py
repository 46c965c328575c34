"""The merged call trees of two selections: /flame-diff."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import METADATA
from services.api.formats.stack_profile import Value
from services.api.parameters import Base, Selected
from services.api.profiles.diff_files import FILES, DiffFile, ValueOfBoth
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.answer import as_document
from storage.query.answers.flame_diff import DiffFlameNodes, FlameDiffAnswer
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import MOST_NODES
from storage.query.shapes.flame_diff import FlameDiffQuestion

_NO_NODES = DiffFlameNodes((), (), (), (), (), (), ())


@dataclass(frozen=True, slots=True)
class _Query:
    """A request for a differential flame graph."""

    queries: QueryEngine
    question: FlameDiffQuestion
    value: Value

    @property
    def stacks(self) -> DiffFile:
        """The stacks of both trees, without a limit."""
        return DiffFile(
            self.queries.ask, self.question.selection, self.question.base, "flame-diff", self.value
        )

    def as_json(self) -> bytes:
        return as_json(self.queries.ask(self.question))[0]

    def table(self) -> pa.Table:
        """A row for each node; `parent` is a row number. The rest of the answer is metadata."""
        answer = self.queries.ask(self.question)
        nodes, functions = answer.nodes, answer.functions
        index = pa.array(nodes.function, pa.int32())
        columns = {
            "parent": pa.array(nodes.parent, pa.int32()),
            "function": _by_function(index, [function.name for function in functions]),
            "file": _by_function(index, [function.file for function in functions]),
            "binary": _by_function(index, [function.binary for function in functions]),
            "total": pa.array(nodes.total, pa.float64()),
            "self": pa.array(nodes.self, pa.float64()),
            "base_total": pa.array(nodes.base_total, pa.float64()),
            "base_self": pa.array(nodes.base_self, pa.float64()),
            "delta": pa.array(nodes.delta, pa.float64()),
        }
        document = as_document(replace(answer, functions=(), nodes=_NO_NODES))
        rest = {name: value for name, value in document.items() if name not in {"functions", "nodes"}}
        text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return pa.table(columns).replace_schema_metadata({METADATA: text.encode("utf-8", "replace")})


def _by_function(index: "pa.Array[Any]", texts: Sequence[str]) -> "pa.Array[Any]":
    known = pa.array([text.encode("utf-8", "replace").decode() for text in texts], pa.string())
    return known.take(index).dictionary_encode()


_FORMS: Forms[_Query] = Forms(
    (
        Form("json", "application/json", "json", _Query.as_json),
        arrow.form(_Query.table),
        csv_text.form(_Query.table),
        *FILES,
    )
)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/flame-diff",
        summary="Differential flame graph of two selections",
        description="A node for each call path that either selection has, with its values in both. /diff tests whether "
        "the change of a function is more than chance. Files of stacks contain all stacks of both sides, "
        "without a cut; values of the base are negative.",
        response_model=described_by(FlameDiffAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def flame_diff(
        *,
        request: Request,
        selection: Selected,
        base: Base,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Largest number of nodes.")] = 20_000,
        min_share: Annotated[
            float, Query(ge=0, le=1, description="Cut off nodes below this share on both sides.")
        ] = 0.0,
        value: ValueOfBoth = Value.ESTIMATE,
    ) -> Response:
        question = FlameDiffQuestion(selection, base, nodes, min_share)
        return await handler.answer(request, _FORMS, _Query(handler.queries, question, value))
