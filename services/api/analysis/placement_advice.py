"""Placement of applications on shared machines: /analysis/placement."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.envelope import (
    InputsAnswer,
    LeftOut,
    MachineSelectionEcho,
    NoAnswerReason,
    asked_document,
    because_document,
    inputs_document,
    reasons_document,
)
from services.api.analysis.interference import (
    Chip,
    Experiments,
    Source,
    chip_document,
    named_numbers,
    source_document,
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.placement import MOST_MACHINES, MOST_TENANTS, PlacementQuestion
from storage.query.models.placement import PlacementAnswer as FoundPlacement
from storage.query.selections.selection import Selection


class PlacedRow(Answer):
    """One program."""

    application: str
    machine: int | None = Field(description="From 0; null: `because` says why it is not placed.")
    most: float | None = Field(description="Degradation that it may suffer; null: any.")
    degradation: float | None = Field(
        description="Predicted time ratio − 1 beside those it is placed with; 0 alone; null: no model can say."
    )
    kept: bool | None = Field(description="Whether its target is.")
    because: NoAnswerReason | None


class PlacementAnswer(Answer):
    """The best placement found. It is not proven to be the best there is."""

    asked: MachineSelectionEcho
    source: Source
    chip: Chip
    machines: int
    slots: int
    rows: list[PlacedRow]
    rows_total: int
    ended: bool = Field(
        description="No exchange that was looked at betters it; false: the search stopped at its limit."
    )
    left_out: list[LeftOut]
    inputs: InputsAnswer
    because: NoAnswerReason | None


_FORMS = forms_of(PlacementAnswer, "rows")


def placement_document(selection: Selection, found: FoundPlacement) -> Json:
    """The answer of /analysis/placement."""
    return {
        "asked": asked_document(selection),
        "source": source_document(found.source),
        "chip": chip_document(found.platform, found.lines, found.peak_gbs, seen=found.peak_is_seen),
        "machines": found.machines,
        "slots": found.slots,
        "rows": [
            {
                "application": row.application,
                "machine": row.machine,
                "most": row.most,
                "degradation": row.degradation,
                "kept": row.kept,
                "because": because_document(row.unavailable),
            }
            for row in found.rows
        ],
        "rows_total": len(found.rows),
        "ended": found.ended,
        "left_out": reasons_document(found.left_out),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unavailable),
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/placement",
        summary="Programs on machines so that none is slowed down too much",
        description="The best placement found of programs on equal machines: targets for degradation are kept where possible, "
        "then the least degradation in sum, by the functions of /analysis/interference.",
        response_model=PlacementAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def placement(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        tenants: Annotated[
            str,
            Query(
                min_length=1,
                max_length=20_000,
                description="Programs, comma-separated, each with the degradation it may suffer if not any: "
                "`checkout:0.1,feed,feed`. An application named twice is two programs.",
            ),
        ],
        machines: Annotated[int, Query(ge=1, le=MOST_MACHINES, description="How many there are.")],
        slots: Annotated[int, Query(ge=1, le=MOST_TENANTS, description="Programs a machine may hold.")] = 2,
        platform: Annotated[
            str,
            Query(max_length=500, description="Of the machines; empty: the one with most visits, or runs."),
        ] = "",
        peak_gbs: Annotated[
            float | None,
            Query(
                ge=0.1,
                le=100_000,
                description="GB/s of a chip's memory; else as calibrated, or the most seen.",
            ),
        ] = None,
        cautious: Annotated[
            bool, Query(description="Hold targets by the upper end of the prediction's interval.")
        ] = False,
        experiments: Experiments = "",
    ) -> Response:
        def document() -> Json:
            wanted = tuple(named_numbers(tenants, "tenants"))
            question = PlacementQuestion(
                selection, wanted, machines, slots, platform, peak_gbs, cautious, experiments
            )
            return placement_document(selection, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
