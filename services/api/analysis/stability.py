"""A one-word rating of a profile's stability: /analysis/stability."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from services.api.analysis.envelope import Figure, figure_document
from services.api.analysis.model_answers import OfSamples, of_samples
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.stability import StabilityAnswer as FoundStability
from storage.query.models.stability import StabilityQuestion
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time


class DayRow(Answer):
    """The profile on one UTC day."""

    day: str = Field(description="When it begins, RFC 3339.")
    visits: int = Field(description="With a sample of the profile.")
    samples: float
    entropy: Figure = Field(description="In nats; of no width where a single visit has it.")
    shifted: bool = Field(description="The profile is not of the same thing as on the other days.")


class StabilityAnswer(OfSamples):
    """A profile's badge and its reasons."""

    by: list[str]
    badge: Literal["steady", "fair", "rough", "shifting", "few"] | None = Field(
        description="What the profile may be used for. steady: small rows too; fair: the hottest rows; rough: nothing but its very "
        "top; shifting: it is not of one thing, look at the shifted days apart; few: too few visits to say. Null: `because` says why."
    )
    misplaced: Figure | None = Field(
        description="Part of the samples at wrong rows, 0…1; null where few visits have it."
    )
    samples: float | None
    more_visits: float | None = Field(
        description="Visits with the selection, beyond the present ones, that would make it steady; null if that is not known."
    )
    rows: list[DayRow] = Field(description="Days that have visits of the profile, in order.")


_FORMS = forms_of(StabilityAnswer, "rows")


def stability_document(selection: Selection, found: FoundStability) -> Json:
    """The answer of /analysis/stability."""
    judged = found.stability
    figures = {
        "by": list(found.by),
        "badge": None if judged is None else judged.badge.value,
        "misplaced": None if judged is None else figure_document(judged.misplaced),
        "samples": None if judged is None else judged.samples,
        "more_visits": None if judged is None else judged.more_visits,
        "rows": [
            {
                "day": format_time(day.start),
                "visits": day.visits,
                "samples": day.samples,
                "entropy": figure_document(day.entropy),
                "shifted": day.shifted,
            }
            for day in found.days
        ],
    }
    return of_samples(selection, found.kind, found.totals, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/stability",
        summary="May one trust this profile",
        description="One word for how far a profile is from the fleet's, foretold by how it converges, and whether its days are "
        "of the same thing, by their entropy.",
        response_model=StabilityAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def stability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        def document() -> Json:
            found = handler.queries.ask(StabilityQuestion(selection, keys_of(by)))
            return stability_document(selection, found)

        return await handler.answer(request, _FORMS, document)
