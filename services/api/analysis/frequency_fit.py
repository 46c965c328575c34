"""Applications' time as a function of the frequency, in a fleet that runs at several: /analysis/frequency-fit."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.dvfs.fleet_fit import Step
from services.api.analysis.envelope import (
    Figure,
    LeftOut,
    NoAnswerReason,
    because_document,
    figure_document,
    reasons_document,
)
from services.api.analysis.frequency_answers import (
    Frequencies,
    Memory,
    Slowdown,
    memory_document,
    slowdown_document,
)
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.frequency_fit import MOST_ROWS, FitQuestion, FitRow
from storage.query.models.frequency_fit import FitAnswer as FoundFit
from storage.query.selections.selection import Selection


class FrequencyStep(Answer):
    """Visits at nearly one frequency."""

    mhz: float = Field(description="Mean, by CPU time.")
    visits: int
    machines: int
    ns_per_instruction: float = Field(description="Cycles per instruction as counted.")
    fitted: float = Field(description="Cycles per instruction by the fit.")
    held_out: float | None = Field(
        description="Relative error of the prediction of this step from the other steps. Null: there are fewer than two "
        "others."
    )
    naive: float | None = Field(
        description="The same if all time were on the chip, so that CPI is equal at any frequency."
    )


class FrequencyFitRow(Answer):
    """One application on one platform."""

    application: str
    platform: str
    cpu_seconds: float = Field(
        description="Core-seconds of the fleet in the covered time, of the counted control groups."
    )
    visits: int
    machines: int
    base_mhz: float | None = Field(description="Frequency that slowdowns are relative to.")
    off_chip: Figure | None = Field(
        description="Share of the time at the base frequency that does not scale with the clock."
    )
    on_chip_cpi: Figure | None = Field(description="A: cycles per instruction without waiting.")
    waiting_ns: Figure | None = Field(description="B: nanoseconds that an instruction waits on average.")
    slowdowns: list[Slowdown]
    lowest_mhz: Figure | None = Field(
        description="Lowest frequency that keeps the requested performance. Null: no frequency keeps it, or any does; "
        "`because` has the reason."
    )
    lowest_at_memory_mhz: Figure | None = Field(
        description="The same with the requested memory frequency. Null also if none was requested."
    )
    lowest_at_memory_because: NoAnswerReason | None = Field(
        description="The reason why there is none with that memory: unreachable, no frequency keeps the performance; "
        "unbounded, any frequency does."
    )
    steps: list[FrequencyStep] = Field(description="The observed steps, the lowest frequency first.")
    load_correlation: float | None = Field(
        description="Correlation of frequency and load. The fit includes the effect of load; near 1 the two effects can "
        "hardly be separated."
    )
    clipped: bool = Field(description="A or B is 0, because its fitted value was negative by chance.")
    low_confidence: bool
    because: NoAnswerReason | None


class FrequencyFitAnswer(OfMachines):
    """A/f + B of applications, platform by platform."""

    performance: float
    memory: Memory | None
    rows: list[FrequencyFitRow]
    rows_total: int
    limits: list[str] = Field(description="Visits and applications that the model leaves out.")
    left_out: list[LeftOut]


_FORMS = forms_of(FrequencyFitAnswer, "rows")


def frequency_fit_document(selection: Selection, found: FoundFit) -> Json:
    """The answer of /analysis/frequency-fit."""
    figures = {
        "performance": found.performance,
        "memory": memory_document(found.change),
        "rows": [_row(row) for row in found.rows],
        "rows_total": found.rows_total,
        "limits": list(found.limits),
        "left_out": reasons_document(found.left_out),
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def _row(row: FitRow) -> Json:
    fit = row.fit
    return {
        "application": row.application,
        "platform": row.platform,
        "cpu_seconds": row.cpu_seconds,
        "visits": row.visits,
        "machines": row.machines,
        "base_mhz": None if fit is None else fit.sensitivity.base_hz / 1e6,
        "off_chip": None if fit is None else figure_document(fit.sensitivity.off_chip_share),
        "on_chip_cpi": None if fit is None else figure_document(fit.on_chip_cycles),
        "waiting_ns": None if fit is None else figure_document(fit.waiting_s, 1e9),
        "slowdowns": [
            slowdown_document(each.mhz, each.slowdown, each.naive, each.at_memory) for each in row.slowdowns
        ],
        "lowest_mhz": figure_document(row.lowest_mhz),
        "lowest_at_memory_mhz": figure_document(row.lowest_at_memory_mhz),
        "lowest_at_memory_because": because_document(row.unavailable_at_memory),
        "steps": [] if fit is None else [_step(step) for step in fit.steps],
        "load_correlation": None if fit is None else fit.load_correlation,
        "clipped": fit is not None and fit.clipped,
        "low_confidence": fit is None or fit.sensitivity.low_confidence,
        "because": because_document(row.unavailable),
    }


def _step(step: Step) -> Json:
    return {
        "mhz": step.hertz / 1e6,
        "visits": step.visits,
        "machines": step.machines,
        "ns_per_instruction": step.seconds * 1e9,
        "fitted": step.fitted * 1e9,
        "held_out": step.held_out,
        "naive": step.naive,
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency-fit",
        summary="Slowdowns where machines run at several frequencies",
        description="Fits A/f + B to the time that an application's instructions took on machines of one platform at "
        "different frequencies, without misses or latencies. The answer has the share of time that waits, "
        "slowdowns at other frequencies, the lowest frequency that keeps a performance, and the error of "
        "predicting each frequency from the others.",
        response_model=FrequencyFitAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency_fit(
        request: Request,
        selection: Selected,
        frequencies: Frequencies,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 20,
    ) -> Response:
        def document() -> Json:
            found = handler.queries.ask(FitQuestion(selection, frequencies.wanted, limit))
            return frequency_fit_document(selection, found)

        return await handler.answer(request, _FORMS, document)
