"""One application on two platforms, counter by counter: /analysis/side-by-side."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.confidence import LEVEL
from services.api.analysis.envelope import Figure, figure_document
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.side_by_side import SideAnswer as FoundSides
from storage.query.models.side_by_side import SideQuestion
from storage.query.selections.selection import Selection

_LONGEST_NAME = 200


class SideRow(Answer):
    """One figure on both platforms."""

    name: str = Field(examples=["cpi"])
    unit: str
    first: Figure | None = Field(description="Null: not counted there.")
    second: Figure | None
    factor: Figure | None = Field(
        description="second ÷ first, with its interval at `interval_level`. Null if one of them is null."
    )
    p: float | None = Field(description="p-value of the hypothesis that the two are equal.")
    significant: bool = Field(
        description="The factor's interval excludes 1. At most 5 % of the marked figures are false."
    )
    low_confidence: bool = Field(description="Most of one side comes from one or two visits.")
    suspect: bool = Field(
        description="The two certainly differ at least tenfold, so the events may not count the same thing."
    )
    first_visits: int
    second_visits: int


class SideAnswer(OfMachines):
    """Every figure that either platform has."""

    first: str
    second: str
    interval_level: float = Field(description="Level of the factors' intervals.", ge=LEVEL, le=1)
    rows: list[SideRow]


_FORMS = forms_of(SideAnswer, "rows")


def side_document(selection: Selection, first: str, second: str, found: FoundSides) -> Json:
    """The answer of /analysis/side-by-side."""
    figures = {
        "first": first,
        "second": second,
        "interval_level": found.level,
        "rows": [
            {
                "name": row.name,
                "unit": row.unit,
                "first": figure_document(row.first),
                "second": figure_document(row.second),
                "factor": figure_document(row.factor),
                "p": row.p,
                "significant": row.significant,
                "low_confidence": row.low_confidence,
                "suspect": row.suspect,
                "first_visits": row.visits[0],
                "second_visits": row.visits[1],
            }
            for row in found.rows
        ],
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/side-by-side",
        summary="Two platforms, counter by counter",
        description="Compares an application, or all machines, on two platforms: cycles per instruction, misses and "
        "similar ratios, with the factor between them. If the two certainly differ at least tenfold, the "
        "events hardly count the same thing.",
        response_model=SideAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def side_by_side(
        request: Request,
        selection: Selected,
        first: Annotated[
            str, Query(description="A platform, as /labels lists it.", max_length=_LONGEST_NAME)
        ],
        second: Annotated[str, Query(description="Another platform.", max_length=_LONGEST_NAME)],
    ) -> Response:
        def document() -> Json:
            found = handler.queries.ask(SideQuestion(selection, first, second))
            return side_document(selection, first, second, found)

        return await handler.answer(request, _FORMS, document)
