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

    day: str = Field(description="Start of the day, RFC 3339.")
    visits: int = Field(description="Visits with a sample of the profile.")
    samples: float
    entropy: Figure = Field(
        description="Entropy in nats. The interval has no width if only one visit has samples."
    )
    shifted: bool = Field(description="The day's entropy differs significantly from that of the other days.")


class StabilityAnswer(OfSamples):
    """A profile's badge and its reasons."""

    by: list[str]
    badge: Literal["steady", "fair", "rough", "shifting", "few"] | None = Field(
        description="Use of the profile. steady: small rows too; fair: the hottest rows; rough: only the very top; "
        "shifting: the days differ, so look at the shifted days separately; few: too few visits for a "
        "verdict. Null: `because` gives the reason."
    )
    misplaced: Figure | None = Field(
        description="Share of the samples in wrong rows, 0…1. Null if few visits have the selection."
    )
    samples: float | None
    more_visits: float | None = Field(
        description="Additional visits with the selection that would make the profile steady. Null: not known."
    )
    rows: list[DayRow] = Field(description="Days with visits of the profile, in order.")


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
        summary="Reliability of a profile",
        description="One word for the distance of a profile from the fleet's, predicted from its convergence, and "
        "whether its days differ, by their entropy.",
        response_model=StabilityAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def stability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        def document() -> Json:
            found = handler.queries.ask(StabilityQuestion(selection, keys_of(by)))
            return stability_document(selection, found)

        return await handler.answer(request, _FORMS, document)
