"""The tree of calls: /flame."""

from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api import encoding
from services.api.answer import Answer, Json
from services.api.formats import arrow, csv_text
from services.api.formats.flame_table import flame_table
from services.api.formats.forms import Form, Forms
from services.api.parameters import Selected
from services.api.profiles.asker import PROBLEMS, Asker
from services.api.profiles.functions import KindName, StatusName, function_document
from services.api.profiles.selection import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from services.api.replies import as_json
from storage.query.engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.flame import MOST_NODES, Flame, FlameQuestion
from storage.query.shapes.flame import FlameAnswer as FoundFlame


class FlameFunction(Answer):
    """A function that nodes of the flame graph refer to."""

    id: int = Field(description="0: the root, which stands for all samples.")
    name: str
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

    nodes: int
    share: float = Field(description="Share of all units that is self of a node cut off.", ge=0, le=1)


class FlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending total; node 0 is the root."""

    total: list[float] = Field(
        description="Estimated core-seconds of the fleet, units for events not counted in time; without a random "
        "design what was observed."
    )
    self: list[float] = Field(description="Likewise. Total − self − children's totals was cut off.")
    parent: list[int] = Field(description="-1 for the root.")
    function: list[int] = Field(description="Index into `functions`.")


class FlameSummary(Answer):
    """The JSON part of a flame graph."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[FlameFunction]
    pruned: Pruned


class FlameAnswer(FlameSummary):
    """The samples of a selection as a tree of calls."""

    nodes: FlameNodes


def flame_summary(selection: Selection, found: FoundFlame) -> Json:
    """The answer of /flame without its nodes."""
    return {
        "selection": selection_document(selection, found.kind),
        "totals": totals_document(found.totals, found.kind.seconds_per_unit),
        "functions": [
            function_document(row) | {"effective": effective}
            for row, effective in zip(found.flame.functions, found.flame.effective, strict=True)
        ],
        "pruned": {"nodes": found.flame.pruned_nodes, "share": found.flame.pruned_share},
    }


def flame_document(selection: Selection, found: FoundFlame) -> Json:
    """The answer of /flame as JSON."""
    return {**flame_summary(selection, found), "nodes": _nodes(found.flame, found.kind.seconds_per_unit)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for a flame graph."""

    queries: QueryEngine
    selection: Selection
    nodes: int

    def found(self) -> FoundFlame:
        return self.queries.ask(FlameQuestion(self.selection, self.nodes))

    def as_json(self) -> bytes:
        return as_json(flame_document(self.selection, self.found()))[0]

    def as_columns(self) -> bytes:
        found = self.found()
        summary = flame_summary(self.selection, found)
        return encoding.encode_flame(summary, found.flame, found.kind.seconds_per_unit)

    def table(self) -> pa.Table:
        found = self.found()
        summary = flame_summary(self.selection, found)
        return flame_table(summary, found.flame, found.kind.seconds_per_unit)


_FORMS = Forms(
    (
        Form("json", "application/json", "json", _Asked.as_json),
        Form("columns", encoding.MEDIA_TYPE, "fpfl", _Asked.as_columns),
        arrow.form(_Asked.table),
        csv_text.form(_Asked.table),
    )
)


def add(router: APIRouter, asker: Asker) -> None:
    """Add the route."""

    @router.get(
        "/flame",
        summary="The tree of calls",
        description="The samples of a selection as a prefix tree of their stacks, cut to its heaviest nodes. "
        f"With `Accept: {encoding.MEDIA_TYPE}` in a binary form of columns that needs no parsing.",
        response_model=FlameAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def flame(
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Most nodes to send.")] = 20_000,
    ) -> Response:
        return await asker.answer(request, _FORMS, _Asked(asker.queries, selection, nodes))


def _nodes(graph: Flame, scale: float | None) -> Json:
    factor = 1.0 if scale is None else scale
    return {
        "total": (graph.total_weight * factor).tolist(),
        "self": (graph.self_weight * factor).tolist(),
        "parent": graph.parent.tolist(),
        "function": graph.function.tolist(),
    }
