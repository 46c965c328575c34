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
    source: str = Field(description="Platform it leaves.")
    destination: str
    instructions: float = Field(
        description="Estimated, of what was counted in the covered time: control groups that are counted, on machines that can."
    )
    share: float = Field(description="Of all that was counted of the application, 0…1.")
    saving_cycles: float = Field(description="0 or less: it makes room for another.")


class Present(Answer):
    """One application on one platform, as it runs today."""

    application: str
    platform: str
    cpi: Figure | None = Field(description="Null: not measured, so nothing is moved there.")
    instructions: float = Field(description="As in the moves: of what was counted.")


class AffinityAnswer(OfMachines):
    """The assignment with the fewest cycles, and what it would save."""

    present: list[Present]
    present_cycles: float | None = Field(description="Null like the next ones: `because` says why.")
    planned_cycles: float | None
    saving_cycles: Figure | None = Field(
        description="What it will save, with the plan's optimism taken off: it was chosen by measurements with errors."
    )
    optimism_cycles: float | None
    certain_cycles: float | None = Field(
        description="Saved even if every CPI lies at the worse end of its interval."
    )
    unknown: int | None = Field(description="Pairs of an application and a platform without a measurement.")
    rows: list[MoveRow] = Field(
        description="The moves that bring four fifths of it, and those that make room."
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
        description="The assignment of work to platforms that takes the fewest cycles by measured CPI, under capacities, pins, "
        "floors and largest shares; what it saves, and the moves that matter.",
        response_model=AffinityAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def affinity(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        applications: Annotated[
            int, Query(ge=1, le=MOST_APPLICATIONS, description="How many, those with most work.")
        ] = 50,
        pinned: Annotated[
            str, Query(max_length=4000, description="Applications that stay where they are, comma-separated.")
        ] = "",
        largest_share: Annotated[
            float,
            Query(ge=0, le=1, description="Of an application that one platform may hold, for availability."),
        ] = 1.0,
        floor: Annotated[
            float, Query(ge=0, le=1, description="Share of what runs somewhere that must stay: replicas.")
        ] = 0.0,
        room: Annotated[
            float,
            Query(ge=0, le=10, description="Share by which a platform may give more cycles than today."),
        ] = 0.0,
        cautious: Annotated[
            bool, Query(description="Move only what pays off at the worse ends of the intervals.")
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
