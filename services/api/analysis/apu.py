"""The used share of the cores' capacity: /analysis/apu."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

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
)
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.calibrations import Calibration
from storage.query.models.apu import MOST_ROWS, ApuQuestion
from storage.query.models.apu import ApuAnswer as FoundApu
from storage.query.models.load_rows import CountedRow
from storage.query.observed.machines import LABELS
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection


class HardwareLoad(Answer):
    """The load of machines by counters of cycles, and by their operating systems in the same visits."""

    apu: Figure
    thread_any: Figure
    overlap: Figure = Field(description="Core-time with both threads busy.")
    utilisation: Figure = Field(
        description="Utilisation of threads by cycles. If it is far from the utilisation by times, one of the two is "
        "wrong."
    )
    system_apu: Figure = Field(
        description="APU by the operating systems' times, in the visits with counters only."
    )
    system_overlap: Figure = Field(description="Overlap if threads were busy independently of each other.")
    largest_disagreement: float = Field(
        description="Largest difference between the two overlaps of one machine in one visit, 0…1."
    )


class ApuRow(Answer):
    """The load of the machines of one value, or the capacity that one application uses."""

    value: str = Field(description="A value of the label, or the application.")
    utilisation: Figure | None = Field(
        description="Utilisation of logical CPUs, as monitoring shows it, 0…1. Null in rows of applications, like the "
        "next three fields."
    )
    thread_any: Figure | None = Field(description="Core-time in which any thread was busy.")
    apu: Figure | None = Field(
        description="Share of the cores' capacity that is used, by the operating systems' times. This assumes that "
        "threads are busy independently of each other."
    )
    simplified: Figure | None = Field(description="APU from the mean utilisation of each core.")
    hardware: HardwareLoad | None = Field(
        description="Figures by cycle counters, from the visits that have them. Null: no visit has them, or the row is "
        "an application."
    )
    core_seconds: float | None = Field(
        description="Capacity that the application uses, of the fleet in the covered time."
    )
    per_cpu_second: Figure | None = Field(
        description="Core-seconds that the application uses per CPU second of accounted time."
    )
    hardware_per_cpu_second: Figure | None = Field(
        description="The same by cycle counters, from `hardware_visits` visits. Null: no visit has them."
    )
    low_confidence: bool
    visits: int
    hardware_visits: int = Field(description="Number of `visits` with counters of threads and of cores.")
    machines: int | None


class Coefficient(Answer):
    """A calibrated figure of a platform."""

    platform: str
    workload: str = Field(description="Empty: any application.")
    value: float
    lo: float | None
    hi: float | None
    measured: bool = Field(description="False: the coefficient is from the request.")


class ApuAnswer(Answer):
    """Adjusted processor utilisation by counters and by operating systems, beside other measures of the same CPUs."""

    asked: MachineSelectionEcho
    by: str
    rows: list[ApuRow]
    coefficients: list[Coefficient] = Field(description="The overlap coefficients used.")
    left_out: list[LeftOut]
    hardware_used: int = Field(description="Visits that also have an APU by counters.")
    hardware_left_out: list[LeftOut] = Field(
        description="Visits that have only an APU by the operating system, with the reason."
    )
    hardware_because: NoAnswerReason | None = Field(description="The reason why there is no APU by counters.")
    inputs: InputsAnswer
    because: NoAnswerReason | None


_FORMS = forms_of(ApuAnswer, "rows")


def coefficient_document(found: Calibration) -> Json:
    """A calibrated coefficient."""
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
            "hardware": _hardware(row.counted),
            "core_seconds": None,
            "per_cpu_second": None,
            "hardware_per_cpu_second": None,
            "low_confidence": row.low_confidence,
            "visits": row.visits,
            "hardware_visits": 0 if row.counted is None else row.counted.visits,
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
            "hardware": None,
            "core_seconds": use.core_seconds,
            "per_cpu_second": figure_document(use.per_cpu_second),
            "hardware_per_cpu_second": figure_document(use.counted),
            "low_confidence": use.low_confidence,
            "visits": use.visits,
            "hardware_visits": use.counted_visits,
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
        "hardware_used": found.counted,
        "hardware_left_out": reasons_document(found.not_counted),
        "hardware_because": because_document(found.counted_unavailable),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unavailable),
    }


def _hardware(row: CountedRow | None) -> Json | None:
    if row is None:
        return None
    return {
        "apu": figure_document(row.apu),
        "thread_any": figure_document(row.thread_any),
        "overlap": figure_document(row.overlap),
        "utilisation": figure_document(row.utilisation),
        "system_apu": figure_document(row.system_apu),
        "system_overlap": figure_document(row.system_overlap),
        "largest_disagreement": row.largest_disagreement,
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/apu",
        summary="Capacity used, by APU",
        description="On cores with two threads, CPU utilisation overstates the capacity that is left. Adjusted "
        "processor utilisation (APU) weights the time with both threads busy by the cost of overlap "
        "(`fleetprof calibrate smt`). Cycle counters give the time that both threads are busy where "
        "machines have them. Elsewhere threads are assumed to be busy independently of each other.",
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
                description="Overlap coefficient of platforms without one. If it is not given, these platforms are left "
                "out.",
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        def document() -> Json:
            return apu_document(
                selection, handler.queries.ask(ApuQuestion(selection, by, coefficient, limit))
            )

        return await handler.answer(request, _FORMS, document)
