"""The request rate at which a service is fully loaded: /analysis/capacity."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.command_line.durations import step_of
from storage.errors import BadSelection
from storage.query.answers.capacity import CapacityAnswer
from storage.query.models.capacity import CapacityQuestion
from storage.query.selections.selection import Selection

_LONGEST_RATES = 16_000

_FORMS = forms_of(CapacityAnswer, "rows")


def capacity_question(
    selection: Selection, rates: str, step: str, full: float, coefficient: float | None
) -> CapacityQuestion:
    """The question that these texts describe. Raises `BadSelection`."""
    return CapacityQuestion(selection, rates_of(rates), step_of(step) or 3600, full, coefficient)


def rates_of(text: str) -> tuple[float | None, ...]:
    """Requests per second, comma-separated; an empty part: unknown. Raises `BadSelection`."""
    found: list[float | None] = []
    at = 0
    for part in text.split(","):
        try:
            found.append(float(part) if part.strip() else None)
        except ValueError as error:
            raise BadSelection(
                f"{part.strip()[:40]!r} is not a request rate.",
                at=at,
                hint="rates=812,,640",
                parameter="rates",
            ) from error
        at += len(part) + 1
    return tuple(found)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/capacity",
        summary="Forecast of the highest request rate",
        description="Fits the load of the selection's machines (CPU utilisation and APU) as a line of the request rate, "
        "and extends the line to full load. Match the machines of one service, by cluster or name.",
        response_model=described_by(CapacityAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def capacity(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        rates: Annotated[
            str,
            Query(
                max_length=_LONGEST_RATES,
                description="Requests per second of all these machines together: the mean of each step in order, "
                "separated by commas. Leave unknown steps empty.",
                examples=["812,,640"],
            ),
        ],
        step: Annotated[
            str,
            Query(description="Length of a step, counted from midnight UTC: `1h`, `10m`.", max_length=20),
        ] = "1h",
        full: Annotated[
            float, Query(gt=0, le=1, description="Load at which the machines serve no more requests.")
        ] = 1.0,
        coefficient: Annotated[
            float | None,
            Query(ge=1, le=10, description="Overlap coefficient of platforms without one."),
        ] = None,
    ) -> Response:
        question = capacity_question(selection, rates, step, full, coefficient)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
