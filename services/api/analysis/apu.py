"""How much of its cores' capacity the fleet uses: /analysis/apu."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.told import (
    AskedOf,
    Because,
    Figure,
    InputsAnswer,
    LeftOut,
    asked_document,
    because_document,
    figure_document,
    inputs_document,
    reasons_document,
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.asker import PROBLEMS, Asker
from storage.calibrations import Calibration
from storage.query.models.apu import MOST_ROWS, ApuQuestion
from storage.query.models.apu import ApuAnswer as FoundApu
from storage.query.observed.machines import APPLICATION, LABELS
from storage.query.selections.selection import Selection


class ApuRow(Answer):
    """The load of the machines of one value, or what one application uses up."""

    value: str = Field(description="Of the label, or the application.")
    utilisation: Figure | None = Field(
        description="Of logical CPUs, as monitoring shows it, 0…1; null in rows of applications, like the next three."
    )
    thread_any: Figure | None = Field(description="Core-time in which any thread was busy.")
    apu: Figure | None = Field(description="Share of the cores' capacity that is used.")
    simplified: Figure | None = Field(description="APU from each core's mean utilisation alone.")
    core_seconds: float | None = Field(
        description="Of an application: capacity it uses up, of the fleet in the covered time."
    )
    per_cpu_second: Figure | None = Field(
        description="Of an application: core-seconds used up for each CPU second that accounting shows."
    )
    few: bool
    visits: int
    machines: int | None


class Coefficient(Answer):
    """A calibrated figure of a platform."""

    platform: str
    workload: str = Field(description="The empty text: any.")
    value: float
    lo: float | None
    hi: float | None
    measured: bool = Field(description="False: somebody gave it.")


class ApuAnswer(Answer):
    """Actual processor usage beside three other measures of the same CPUs."""

    asked: AskedOf
    by: str
    rows: list[ApuRow]
    coefficients: list[Coefficient] = Field(description="Overlap coefficients that were used.")
    left_out: list[LeftOut]
    inputs: InputsAnswer
    because: Because | None


_FORMS = forms_of(ApuAnswer, "rows")


def coefficient_document(found: Calibration) -> Json:
    """A calibrated figure."""
    return {
        "platform": found.platform,
        "workload": found.workload,
        "value": found.value,
        "lo": found.lo,
        "hi": found.hi,
        "measured": found.measured,
    }


def apu_document(selection: Selection, found: FoundApu) -> Json:
    """The answer of /analysis/apu."""
    rows: list[Json] = [
        {
            "value": row.value,
            "utilisation": figure_document(row.utilisation),
            "thread_any": figure_document(row.thread_any),
            "apu": figure_document(row.apu),
            "simplified": figure_document(row.simplified),
            "core_seconds": None,
            "per_cpu_second": None,
            "few": row.few,
            "visits": row.visits,
            "machines": row.machines,
        }
        for row in found.loads
    ]
    rows += [
        {
            "value": use.application,
            "utilisation": None,
            "thread_any": None,
            "apu": None,
            "simplified": None,
            "core_seconds": use.core_seconds,
            "per_cpu_second": figure_document(use.per_cpu_second),
            "few": use.few,
            "visits": use.visits,
            "machines": None,
        }
        for use in found.uses
    ]
    return {
        "asked": asked_document(selection),
        "by": found.by,
        "rows": rows,
        "coefficients": [coefficient_document(each) for each in found.coefficients],
        "left_out": reasons_document(found.left_out),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unsaid),
    }


def add(router: APIRouter, asker: Asker) -> None:
    """Add the route."""

    @router.get(
        "/analysis/apu",
        summary="Capacity that is really used",
        description="Where cores have two threads, CPU utilisation says too little of how much is left. Actual processor usage "
        "weighs time with both threads busy by what overlap costs (`fleetprof calibrate smt`).",
        response_model=ApuAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def apu(
        request: Request,
        selection: Selected,
        by: Annotated[
            str, Query(description=f"One of {', '.join((*LABELS, APPLICATION))}.", max_length=40)
        ] = "datacenter",
        coefficient: Annotated[
            float | None,
            Query(
                ge=1,
                le=10,
                description="Overlap coefficient of platforms that have none; else they are left out.",
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Rows to show.")] = 100,
    ) -> Response:
        def document() -> Json:
            return apu_document(selection, asker.queries.ask(ApuQuestion(selection, by, coefficient, limit)))

        return await asker.answer(request, _FORMS, document)
