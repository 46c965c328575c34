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
        description="0: the root, which stands for all samples; below 0: no function, but the value of a label."
    )
    name: str
    label: str | None = Field(description="The label whose value the name is; null for functions.")
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName = Field(description="marker: no code; it says what is missing from the stack there.")
    effective: float | None = Field(
        description="How many independent samples the function's share is worth. Its nodes borrow that for their "
        "intervals: the design effect is the function's. Null for the root, light functions, and without a "
        "random design."
    )


class Pruned(Answer):
    """What was cut off the flame graph."""

    nodes: int = Field(
        description="Of an inverted tree at least so many: callers of light nodes are not followed."
    )
    share: float = Field(description="Share of the tree that is self of a node cut off.", ge=0, le=1)


class FlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending total; node 0 is the root."""

    total: list[float] = Field(
        description="Estimated core-seconds of the fleet, units for events not counted in time; without a random "
        "design what was observed."
    )
    self: list[float] = Field(description="Likewise.")
    pruned: list[float] = Field(
        description="Likewise, of nodes cut off below: total = self + pruned + the children's totals."
    )
    parent: list[int] = Field(description="-1 for the root.")
    function: list[int] = Field(description="Index into `functions`.")


class FlameAnswer(Answer):
    """The samples of a selection as a tree of calls."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[FlameFunction]
    path: list[int] = Field(
        description="Ids of the functions from the whole tree's root down to this one's, which is the last; empty for the whole."
    )
    inverted: bool = Field(description="Callees stand above their callers.")
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
                "A tree of callers is no set of stacks.",
                hint="Leave `invert` out, or take json, arrow or csv.",
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
        summary="The tree of calls",
        description="The samples of a selection as a prefix tree of their stacks, cut to its heaviest nodes. "
        f"With `Accept: {flame_columns.MEDIA_TYPE}` in a binary form of columns that needs no parsing.",
        response_model=FlameAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def flame(
        *,
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Most nodes to send.")] = 20_000,
        root: Annotated[
            str,
            Query(
                description="Draw what lies below a node: ids of the functions on the way there from the root, commas "
                "between. What was cut off the whole tree is seen so. An inverted tree's ways begin with the innermost "
                "function.",
                examples=["17,4,233"],
                max_length=3_000,
            ),
        ] = "",
        invert: Annotated[
            bool, Query(description="Callees above their callers: who calls what takes the time.")
        ] = False,
        min_share: Annotated[
            float, Query(ge=0, le=1, description="Cut off nodes below this share of the tree's root.")
        ] = 0.0,
        by: Annotated[
            str,
            Query(
                description="Labels, commas between, whose values are the first levels.",
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
                f"`root` names no path: {text[:40]!r} is not the id of a function.",
                hint="Write ids of `functions` with commas between, e.g. root=17,4,233.",
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
