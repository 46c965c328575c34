"""Ratios of counters, such as cycles per instruction: /analysis/ratios."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.envelope import Figure, figure_document, moment, step_of
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.ratios import DERIVED, KEYS, MOST_ROWS, RatioQuestion
from storage.query.models.ratios import RatioAnswer as FoundRatios
from storage.query.selections.selection import Selection


class RatioRow(Answer):
    """One ratio of sums over the fleet's visits."""

    key: dict[str, str] = Field(description="One member for each key of `by`.")
    start: str | None = Field(
        alias="from", description="Start of the row's step, RFC 3339. Null without steps."
    )
    ratio: Figure | None = Field(description="Null: not counted.")
    low_confidence: bool = Field(
        description="Low confidence: too few visits contribute for a narrow interval."
    )
    visits: int
    machines: int
    numerator: float = Field(
        description="Estimated sum over what was counted in the covered time. Machines that cannot count are not "
        "included; by application, only counted control groups are."
    )
    denominator: float = Field(description="Estimated like `numerator`.")


class RatioAnswer(OfMachines):
    """Ratios of the fleet's counters. Null: no machine could count."""

    ratio: str = Field(examples=["cycles / instructions"])
    unit: str = Field(examples=["cycles per instruction"])
    by: list[str]
    step_seconds: int = Field(description="Seconds of a step. 0: without steps.")
    rows: list[RatioRow]
    rows_total: int


_FORMS = forms_of(RatioAnswer, "rows")


def ratios_document(selection: Selection, found: FoundRatios) -> Json:
    """The answer of /analysis/ratios."""
    figures = {
        "ratio": f"{found.derived.y} / {found.derived.x}",
        "unit": found.derived.unit,
        "by": list(found.by),
        "step_seconds": found.step_s,
        "rows": [
            {
                "key": row.key,
                "from": None if row.start is None else moment(row.start),
                "ratio": figure_document(row.value),
                "low_confidence": row.low_confidence,
                "visits": row.visits,
                "machines": row.machines,
                "numerator": row.y,
                "denominator": row.x,
            }
            for row in found.rows
        ],
        "rows_total": found.rows_total,
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/ratios",
        summary="Cycles per instruction, and other ratios of counters",
        description="Ratios of sums over visits (not means of ratios), with their intervals. Machines that cannot count "
        "are not included; `inputs.missing` lists the counters and the reasons.",
        response_model=RatioAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def ratios(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        ratio: Annotated[
            str,
            Query(
                description=f"One of {', '.join(DERIVED)}, or two counters such as `llc-misses/instructions`.",
                max_length=200,
            ),
        ] = "cpi",
        by: Annotated[
            str,
            Query(
                description=f"Comma-separated keys out of {', '.join(KEYS)}. Empty: one row for all.",
                max_length=200,
            ),
        ] = "application",
        step: Annotated[
            str,
            Query(description="Length of a step in time: `1h`, `1d`. Empty: without steps.", max_length=20),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        def document() -> Json:
            keys = keys_of(by) if by else ()
            return ratios_document(
                selection, handler.queries.ask(RatioQuestion(selection, ratio, keys, step_of(step), limit))
            )

        return await handler.answer(request, _FORMS, document)
