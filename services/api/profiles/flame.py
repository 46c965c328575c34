"""The tree of calls: /flame."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text, flame_columns, profile_files
from services.api.formats.flame_stacks import flame_profile
from services.api.formats.flame_table import flame_table
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import StackProfile, Value
from services.api.parameters import Selected, keys_of
from services.api.profiles.functions import KindName, StatusName, function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, address, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.errors import BadSelection
from storage.query.query_engine import QueryEngine
from storage.query.shapes.flame import MOST_NODES, Flame, FlameQuestion
from storage.query.shapes.flame import FlameAnswer as FoundFlame

_LONGEST_ID = 10
"""Digits of an id, which has 31 bits."""


class FlameFunction(Answer):
    """A function that nodes of the flame graph refer to."""

    id: int = Field(
        description="0: the root, which represents all samples. Below 0: not a function but the value of a label."
    )
    name: str
    label: str | None = Field(description="The label that `name` is a value of. Null for functions.")
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName = Field(
        description="marker: not code; the name describes what is missing from the stack there."
    )
    effective: float | None = Field(
        description="Effective number of independent samples of the function's share. The intervals of its nodes use "
        "the function's design effect. Null for the root, for light functions, and without a random design."
    )


class Pruned(Answer):
    """The part of the flame graph that was cut off."""

    nodes: int = Field(
        description="For an inverted tree this is a lower bound: callers of light nodes are not counted."
    )
    share: float = Field(description="Share of the tree that is self of nodes that were cut off.", ge=0, le=1)


class FlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending total; node 0 is the root."""

    total: list[float] = Field(
        description="Estimated core-seconds of the fleet, or units for events not counted in time. Without a random "
        "design, the observed value."
    )
    self: list[float] = Field(description="Like `total`, for self.")
    pruned: list[float] = Field(
        description="Like `total`, of nodes that were cut off below: total = self + pruned + the children's totals."
    )
    parent: list[int] = Field(description="-1 for the root.")
    function: list[int] = Field(description="Index into `functions`.")


class FlameAnswer(Answer):
    """The samples of a selection as a tree of calls."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[FlameFunction]
    path: list[int] = Field(
        description="Ids of the functions from the root of the whole tree to the root of this one, which is the last. "
        "Empty for the whole tree."
    )
    inverted: bool = Field(description="Callees are above their callers.")
    by: list[str] = Field(description="Labels whose values are the first levels.")
    pruned: Pruned
    nodes: FlameNodes


def flame_summary(question: FlameQuestion, found: FoundFlame) -> Json:
    """The answer of /flame without its nodes and their functions."""
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, found.kind.seconds_per_unit),
        "path": [row.id for row in found.path],
        "inverted": question.inverted,
        "by": list(question.by),
        "pruned": {"nodes": found.flame.pruned_nodes, "share": found.flame.pruned_share},
    }


def flame_document(question: FlameQuestion, found: FoundFlame) -> Json:
    """The answer of /flame as JSON."""
    return {
        **flame_summary(question, found),
        "functions": _functions(found.flame),
        "nodes": _nodes(found.flame, found.kind.seconds_per_unit),
    }


@dataclass(frozen=True, slots=True)
class _Query:
    """A request for a flame graph."""

    queries: QueryEngine
    question: FlameQuestion

    def found(self) -> tuple[Json, Flame, float | None]:
        found = self.queries.ask(self.question)
        return flame_summary(self.question, found), found.flame, found.kind.seconds_per_unit

    def as_json(self) -> bytes:
        return as_json(flame_document(self.question, self.queries.ask(self.question)))[0]

    def as_columns(self) -> bytes:
        return flame_columns.encode_flame(*self.found())

    def table(self) -> pa.Table:
        return flame_table(*self.found())

    def profile(self) -> StackProfile:
        if self.question.inverted:
            raise BadSelection(
                "An inverted tree has no stacks to export.",
                hint="Omit `invert`, or choose json, arrow or csv.",
                parameter="invert",
            )
        found = self.queries.ask(self.question)
        more = {
            "root": ",".join(map(str, self.question.root)),
            "by": ",".join(self.question.by),
            "nodes": str(self.question.nodes),
        }
        source = address("flame", self.question.selection, found.kind, more)
        return flame_profile(self.question.selection, found, source=f"fleetprof {source}")


_FORMS = Forms(
    (
        Form("json", "application/json", "json", _Query.as_json),
        Form("columns", flame_columns.MEDIA_TYPE, "fpfl", _Query.as_columns),
        arrow.form(_Query.table),
        csv_text.form(_Query.table),
        *profile_files.forms(_Query.profile, lambda _: Value.ESTIMATE),
    )
)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/flame",
        summary="The flame graph of a selection",
        description="The samples of a selection as a prefix tree of their stacks, cut to its heaviest nodes. `Accept: "
        f"{flame_columns.MEDIA_TYPE}` gets the tree as binary columns that need no parsing.",
        response_model=FlameAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def flame(
        *,
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Largest number of nodes.")] = 20_000,
        root: Annotated[
            str,
            Query(
                description="Return the subtree below a node: ids of the functions on the path from the root, separated "
                "by commas. This shows nodes that are cut off the whole tree. Paths of an inverted tree "
                "begin with the innermost function.",
                examples=["17,4,233"],
                max_length=3_000,
            ),
        ] = "",
        invert: Annotated[
            bool,
            Query(
                description="Put callees above their callers, to show the callers of the code that takes the time."
            ),
        ] = False,
        min_share: Annotated[
            float, Query(ge=0, le=1, description="Cut off nodes below this share of the tree's root.")
        ] = 0.0,
        by: Annotated[
            str,
            Query(
                description="Labels, separated by commas. Their values are the first levels of the tree.",
                examples=["application", "datacenter,application"],
                max_length=500,
            ),
        ] = "",
    ) -> Response:
        question = FlameQuestion(
            selection, nodes, path_of(root), invert, min_share, keys_of(by) if by.strip() else ()
        )
        return await handler.answer(request, _FORMS, _Query(handler.queries, question))


def path_of(root: str) -> tuple[int, ...]:
    """The functions that the text names. Raises `BadSelection`."""
    found = []
    for part in root.split(",") if root.strip() else []:
        text = part.strip()
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID):
            raise BadSelection(
                f"Invalid path in `root`: {text[:40]!r} is not the id of a function.",
                hint="Write ids of `functions`, separated by commas, for example root=17,4,233.",
                parameter="root",
            )
        found.append(int(text))
    return tuple(found)


def _functions(graph: Flame) -> list[Json]:
    labels = graph.labels or [""] * len(graph.functions)
    return [
        {**function_document(row), "label": label or None, "effective": effective}
        for row, label, effective in zip(graph.functions, labels, graph.effective, strict=True)
    ]


def _nodes(graph: Flame, scale: float | None) -> Json:
    factor = 1.0 if scale is None else scale
    return {
        "total": (graph.total_weight * factor).tolist(),
        "self": (graph.self_weight * factor).tolist(),
        "pruned": (graph.pruned_weight * factor).tolist(),
        "parent": graph.parent.tolist(),
        "function": graph.function.tolist(),
    }
