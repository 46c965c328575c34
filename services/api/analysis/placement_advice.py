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
    machine: int | None = Field(
        description="Number of the machine, from 0. Null: not placed; `because` gives the reason."
    )
    most: float | None = Field(description="Largest degradation that the program may suffer. Null: any.")
    degradation: float | None = Field(
        description="Predicted time ratio − 1 beside the programs on the same machine. 0: it is alone. Null: no model "
        "can predict it."
    )
    kept: bool | None = Field(description="The target of the program is kept.")
    because: NoAnswerReason | None


class PlacementAnswer(Answer):
    """The best placement found. It is not proven to be optimal."""

    asked: MachineSelectionEcho
    source: Source
    chip: Chip
    machines: int
    slots: int
    rows: list[PlacedRow]
    rows_total: int
    ended: bool = Field(
        description="No tested exchange improves the placement. False: the search stopped at its limit."
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
        summary="Place programs on machines with little slowdown",
        description="The best placement found for programs on equal machines. It keeps targets for degradation where "
        "possible, then minimises the sum of degradations, by the functions of /analysis/interference.",
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
                description="Programs, comma-separated, each with the largest degradation it may suffer, if limited: "
                "`checkout:0.1,feed,feed`. An application that occurs twice is two programs.",
            ),
        ],
        machines: Annotated[int, Query(ge=1, le=MOST_MACHINES, description="Number of machines.")],
        slots: Annotated[
            int, Query(ge=1, le=MOST_TENANTS, description="Largest number of programs on a machine.")
        ] = 2,
        platform: Annotated[
            str,
            Query(
                max_length=500,
                description="Platform of the machines. Empty: the platform with most visits, or runs.",
            ),
        ] = "",
        peak_gbs: Annotated[
            float | None,
            Query(
                ge=0.1,
                le=100_000,
                description="GB/s of a chip's memory. Default: the calibrated figure, or the largest observed.",
            ),
        ] = None,
        cautious: Annotated[
            bool, Query(description="Keep targets even at the upper end of the prediction's interval.")
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
