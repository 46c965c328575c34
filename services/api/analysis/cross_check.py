"""CPU time by samples against the machines' own accounting: /analysis/cross-check."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.cross_check import TOLERANCE
from services.api.analysis.envelope import Figure, figure_document
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.cross_check import CrossCheckAnswer as FoundChecks
from storage.query.models.cross_check import CrossCheckQuestion
from storage.query.observed.machines import LABELS
from storage.query.selections.selection import Selection


class CrossCheckRow(Answer):
    """The two accounts of the machines of one value."""

    value: str = Field(description="A value of the label. The empty text: not known.")
    sampled_core_seconds: float = Field(
        description="Core-seconds of the fleet in the covered time, by samples."
    )
    monitored_core_seconds: float = Field(
        description="Core-seconds by the machines' own accounting, in the same visits."
    )
    ratio: Figure | None = Field(description="sampled ÷ monitored.")
    discrepancy: float | None = Field(description="ratio − 1: the excess of samples, as a share.")
    verdict: Literal["agree", "differ", "unclear"] = Field(
        description=f"agree: the interval lies within {TOLERANCE:.0%} of 1; differ: outside; unclear: the interval "
        "crosses the limit."
    )
    visits: int


class CrossCheckAnswer(OfMachines):
    """Comparison of two independent accounts of CPU time."""

    by: str
    tolerance: float
    rows: list[CrossCheckRow]


_FORMS = forms_of(CrossCheckAnswer, "rows")


def cross_check_document(selection: Selection, found: FoundChecks) -> Json:
    """The answer of /analysis/cross-check."""
    rows = []
    for row in found.rows:
        ratio = figure_document(row.found.ratio)
        rows.append(
            {
                "value": row.value,
                "sampled_core_seconds": row.found.sampled,
                "monitored_core_seconds": row.found.monitored,
                "ratio": ratio,
                "discrepancy": ratio and ratio["value"] - 1,
                "verdict": row.found.verdict.value,
                "visits": row.found.visits,
            }
        )
    figures = {
        "by": found.by,
        "tolerance": TOLERANCE,
        "rows": rows,
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/cross-check",
        summary="CPU time by samples and by accounting",
        description="Compares CPU time by samples with the busy time that the kernels of the same machines counted. The "
        "two disagree if samples are lost, or if cycles run outside the accounting.",
        response_model=CrossCheckAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def cross_check(
        request: Request,
        selection: Selected,
        by: Annotated[str, Query(description=f"One of {', '.join(LABELS)}.", max_length=40)] = "datacenter",
    ) -> Response:
        def document() -> Json:
            return cross_check_document(selection, handler.queries.ask(CrossCheckQuestion(selection, by)))

        return await handler.answer(request, _FORMS, document)
