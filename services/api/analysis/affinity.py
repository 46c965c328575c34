"""The assignment of applications to platforms that takes the fewest cycles: /analysis/affinity."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.envelope import Figure, figure_document
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.affinity import MOST_APPLICATIONS, AffinityQuestion
from storage.query.models.affinity import AffinityAnswer as FoundAffinity
from storage.query.selections.selection import Selection


class MoveRow(Answer):
    """Work that should change platforms."""

    application: str
    source: str = Field(description="Platform to move the work from.")
    destination: str
    instructions: float = Field(
        description="Estimated instructions in the covered time. Only counted control groups on machines that can count "
        "are included."
    )
    share: float = Field(description="Share of the application's counted instructions, 0…1.")
    saving_cycles: float = Field(description="0 or less: the move makes room for another one.")


class Present(Answer):
    """One application on one platform, as it runs today."""

    application: str
    platform: str
    cpi: Figure | None = Field(
        description="Cycles per instruction. Null: not measured, so no work is moved there."
    )
    instructions: float = Field(
        description="Estimated instructions, from counted control groups as in the moves."
    )


class AffinityAnswer(OfMachines):
    """The assignment with the fewest cycles, and its saving."""

    present: list[Present]
    present_cycles: float | None = Field(
        description="Null, like the next fields: `because` gives the reason."
    )
    planned_cycles: float | None
    saving_cycles: Figure | None = Field(
        description="Estimated saving, corrected for the plan's optimism: the plan was chosen by measurements with "
        "errors."
    )
    optimism_cycles: float | None
    certain_cycles: float | None = Field(
        description="The saving if every CPI is at the worse end of its interval."
    )
    unknown: int | None = Field(description="Pairs of an application and a platform without a measurement.")
    rows: list[MoveRow] = Field(
        description="The moves that bring four fifths of the saving, and the moves that make room for them."
    )
    rows_total: int


_FORMS = forms_of(AffinityAnswer, "rows")


def affinity_document(selection: Selection, found: FoundAffinity) -> Json:
    """The answer of /analysis/affinity."""
    placed = found.placed
    figures = {
        "present": [
            {
                "application": application,
                "platform": platform,
                "cpi": figure_document(cpi),
                "instructions": instructions,
            }
            for application, row, loads in zip(found.applications, found.cpi, found.instructions, strict=True)
            for platform, cpi, instructions in zip(found.platforms, row, loads, strict=True)
        ],
        "present_cycles": placed and placed.present,
        "planned_cycles": placed and placed.planned,
        "saving_cycles": placed and figure_document(placed.saving),
        "optimism_cycles": placed and placed.optimism,
        "certain_cycles": placed and placed.certain,
        "unknown": placed and placed.unknown,
        "rows": [
            {
                "application": move.application,
                "source": move.source,
                "destination": move.destination,
                "instructions": move.instructions,
                "share": move.share,
                "saving_cycles": move.saving,
            }
            for move in (placed.moves if placed else ())
        ],
        "rows_total": placed.moves_total if placed else 0,
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/affinity",
        summary="Applications on the platforms that suit them",
        description="The assignment of work to platforms that takes the fewest cycles by measured CPI, within "
        "capacities, pins, floors and largest shares. The answer has the saving and the moves that matter.",
        response_model=AffinityAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def affinity(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        applications: Annotated[
            int,
            Query(
                ge=1,
                le=MOST_APPLICATIONS,
                description="Largest number of applications, those with most work first.",
            ),
        ] = 50,
        pinned: Annotated[
            str, Query(max_length=4000, description="Applications that stay where they are, comma-separated.")
        ] = "",
        largest_share: Annotated[
            float,
            Query(
                ge=0,
                le=1,
                description="Largest share of an application that one platform may hold, for availability.",
            ),
        ] = 1.0,
        floor: Annotated[
            float,
            Query(
                ge=0,
                le=1,
                description="Smallest share of an application's work on a platform that must stay there, for replicas.",
            ),
        ] = 0.0,
        room: Annotated[
            float,
            Query(ge=0, le=10, description="Share by which a platform may give more cycles than today."),
        ] = 0.0,
        cautious: Annotated[
            bool, Query(description="Make only moves that pay off at the worse ends of the intervals.")
        ] = True,
    ) -> Response:
        def document() -> Json:
            question = AffinityQuestion(
                selection,
                applications,
                tuple(name.strip() for name in pinned.split(",") if name.strip()),
                largest_share,
                floor,
                room,
                cautious,
            )
            return affinity_document(selection, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
