"""The request rate at which a service is fully loaded: /analysis/capacity."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.smt.capacity import Capacity
from services.api.analysis.apu import Coefficient, coefficient_document
from services.api.analysis.envelope import (
    Figure,
    InputsAnswer,
    LeftOut,
    MachineSelectionEcho,
    NoAnswerReason,
    asked_document,
    because_document,
    figure_document,
    inputs_document,
    reasons_document,
    step_of,
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.errors import BadSelection
from storage.query.models.capacity import CapacityAnswer as FoundCapacity
from storage.query.models.capacity import CapacityQuestion
from storage.query.models.no_answer import Unavailable
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time

_LONGEST_RATES = 16_000


class StepRow(Answer):
    """One step of time."""

    start: str = Field(alias="from", description="RFC 3339.")
    rate: float | None = Field(description="Requests per second, from the request.")
    utilisation: Figure | None = Field(
        description="Utilisation of logical CPUs, 0…1. Null: no visit of the step has it."
    )
    apu: Figure | None = Field(description="By the operating systems' times.")
    hardware_apu: Figure | None = Field(description="By cycle counters, from the visits that have them.")
    visits: int


class ForecastAnswer(Answer):
    """A line of load on request rate, extended to where load is full."""

    limit: Figure | None = Field(
        description="Requests per second at which the machines are full. Null: `because` gives the reason."
    )
    intercept: float | None = Field(description="Load without requests.")
    slope: float | None = Field(description="Additional load per request per second.")
    r2: float | None
    observations: int | None
    reach: float | None = Field(
        description="Largest observed rate ÷ limit: the further from 1, the longer the extrapolation."
    )
    curved: bool | None = Field(description="The points bend, so the limit is not reliable.")
    because: NoAnswerReason | None


class CapacityAnswer(Answer):
    """Request rates against load, by CPU utilisation and by APU."""

    asked: MachineSelectionEcho
    step_seconds: int
    full: float
    by_utilisation: ForecastAnswer
    by_apu: ForecastAnswer = Field(description="By the operating systems' times.")
    by_hardware: ForecastAnswer = Field(
        description="By APU from cycle counters, if nine of ten visits have them."
    )
    rows: list[StepRow]
    coefficients: list[Coefficient] = Field(description="The overlap coefficients used.")
    left_out: list[LeftOut] = Field(description="Visits without an APU, with the reason.")
    inputs: InputsAnswer
    because: NoAnswerReason | None = Field(description="The reason why there is no forecast.")


_FORMS = forms_of(CapacityAnswer, "rows")


def capacity_document(question: CapacityQuestion, found: FoundCapacity) -> Json:
    """The answer of /analysis/capacity."""
    return {
        "asked": asked_document(question.selection),
        "step_seconds": found.step_s,
        "full": question.full,
        "by_utilisation": _forecast(found.by_utilisation),
        "by_apu": _forecast(found.by_apu),
        "by_hardware": _forecast(found.by_hardware),
        "rows": [
            {
                "from": format_time(step.start),
                "rate": step.rate,
                "utilisation": figure_document(step.utilisation),
                "apu": figure_document(step.apu),
                "hardware_apu": figure_document(step.hardware_apu),
                "visits": step.visits,
            }
            for step in found.steps
        ],
        "coefficients": [coefficient_document(each) for each in found.coefficients],
        "left_out": reasons_document(found.left_out),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unavailable),
    }


def _forecast(found: Capacity | Unavailable) -> Json:
    if isinstance(found, Unavailable):
        names = ("limit", "intercept", "slope", "r2", "observations", "reach", "curved")
        return {**dict.fromkeys(names), "because": because_document(found)}
    return {
        "limit": figure_document(found.limit),
        "intercept": found.intercept,
        "slope": found.slope,
        "r2": found.r2,
        "observations": found.observations,
        "reach": found.reach,
        "curved": found.curved,
        "because": None,
    }


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
        response_model=CapacityAnswer,
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
        return await handler.answer(
            request, _FORMS, lambda: capacity_document(question, handler.queries.ask(question))
        )
