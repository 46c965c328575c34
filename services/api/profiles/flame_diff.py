"""The merged call trees of two selections: /flame-diff."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import METADATA
from services.api.formats.stack_profile import Value
from services.api.parameters import Base, Selected
from services.api.profiles.diff_files import FILES, DiffFile, ValueOfBoth
from services.api.profiles.functions import KindName, StatusName, function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import MOST_NODES
from storage.query.shapes.flame_diff import FlameDiff, FlameDiffQuestion
from storage.query.shapes.flame_diff import FlameDiffAnswer as FoundFlame


class DiffFlameFunction(Answer):
    """A function that nodes refer to."""

    id: int = Field(description="0: the root, which represents all samples.")
    name: str
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName


class DiffFlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending shares of both sides together; node 0 is the root."""

    total: list[float] = Field(
        description="Estimated core-seconds of the fleet in the selection, or units for events not counted in time. "
        "Without a random design, the observed value. 0: the selection has no such stack."
    )
    self: list[float] = Field(description="Like `total`, for self.")
    base_total: list[float] = Field(description="The same in the base.")
    base_self: list[float]
    delta: list[float] = Field(
        description="Share of the selection minus share of the base, by total. Positive: heavier in the selection."
    )
    parent: list[int] = Field(description="-1 for the root.")
    function: list[int] = Field(description="Index into `functions`.")


class DiffFlamePruned(Answer):
    """The part of the tree that was cut off."""

    nodes: int
    heaviest: float = Field(
        description="Largest share of a node that was cut off, on either side. No larger change is hidden.",
        ge=0,
        le=1,
    )


class FlameDiffAnswer(Answer):
    """The trees of calls of two selections as one. /diff tests whether a function's change is chance."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    whole: float = Field(
        description="The total of the selection that its shares refer to, in the unit of `nodes.total`."
    )
    base_whole: float = Field(description="The same of the base.")
    functions: list[DiffFlameFunction]
    pruned: DiffFlamePruned
    nodes: DiffFlameNodes


def flame_diff_document(question: FlameDiffQuestion, found: FoundFlame) -> Json:
    """The answer of /flame-diff."""
    flame, scale = found.flame, found.kind.seconds_per_unit
    factor = 1.0 if scale is None else scale
    return {
        "selection": selection_document(question.selection, found.kind),
        "base": selection_document(question.base, found.kind),
        "totals": totals_document(found.totals, scale),
        "base_totals": totals_document(found.base_totals, scale),
        "whole": flame.now.whole * factor,
        "base_whole": flame.base.whole * factor,
        "functions": [function_document(row) for row in flame.functions],
        "pruned": {"nodes": flame.pruned_nodes, "heaviest": min(flame.pruned_share, 1.0)},
        "nodes": _nodes(flame, factor),
    }


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

    def document(self) -> Json:
        return flame_diff_document(self.question, self.queries.ask(self.question))

    def as_json(self) -> bytes:
        return as_json(self.document())[0]

    def table(self) -> pa.Table:
        """A row for each node; `parent` is a row number. The rest of the document is metadata."""
        document = self.document()
        nodes, functions = document.pop("nodes"), document.pop("functions")
        index = pa.array(nodes.pop("function"), pa.int32())
        texts = {name: [function[name] for function in functions] for name in ("name", "file", "binary")}
        columns = {
            "parent": pa.array(nodes.pop("parent"), pa.int32()),
            "function": _by_function(index, texts["name"]),
            "file": _by_function(index, texts["file"]),
            "binary": _by_function(index, texts["binary"]),
            **{name: pa.array(column, pa.float64()) for name, column in nodes.items()},
        }
        rest = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return pa.table(columns).replace_schema_metadata({METADATA: rest.encode("utf-8", "replace")})


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
        response_model=FlameDiffAnswer,
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


def _nodes(flame: FlameDiff, factor: float) -> Json:
    return {
        "total": (flame.now.total * factor).tolist(),
        "self": (flame.now.self * factor).tolist(),
        "base_total": (flame.base.total * factor).tolist(),
        "base_self": (flame.base.self * factor).tolist(),
        "delta": flame.delta.tolist(),
        "parent": flame.parent.tolist(),
        "function": flame.function.tolist(),
    }
