"""Predicted slowdowns of applications at lower frequencies: /analysis/frequency."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.apu import Coefficient, coefficient_document
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
from storage.query.models.frequency import MOST_APPLICATIONS, FrequencyQuestion
from storage.query.models.frequency import FrequencyAnswer as FoundFrequency
from storage.query.selections.selection import Selection


class FrequencyRow(Answer):
    """One application."""

    application: str
    cpu_seconds: float = Field(
        description="Core-seconds of the fleet in the covered time, from the visits that can be used."
    )
    visits: int
    off_chip: Figure | None = Field(
        description="Share of the time at the base frequency that waits for memory."
    )
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
    low_confidence: bool
    because: NoAnswerReason | None


class FrequencyAnswer(OfMachines):
    """Predicted slowdowns, and what the model leaves out."""

    base_mhz: float | None
    performance: float
    memory: Memory | None
    rows: list[FrequencyRow]
    rows_total: int
    latencies: list[Coefficient] = Field(description="The nanoseconds of a miss used for each platform.")
    limits: list[str] = Field(description="Visits and platforms that the model leaves out.")
    left_out: list[LeftOut]


_FORMS = forms_of(FrequencyAnswer, "rows")


def frequency_document(selection: Selection, found: FoundFrequency) -> Json:
    """The answer of /analysis/frequency."""
    figures = {
        "base_mhz": found.base_mhz,
        "performance": found.performance,
        "memory": memory_document(found.change),
        "rows": [
            {
                "application": row.application,
                "cpu_seconds": row.cpu_seconds,
                "visits": row.visits,
                "off_chip": figure_document(row.off_chip),
                "slowdowns": [
                    slowdown_document(mhz, slowdown, naive, at_memory)
                    for mhz, slowdown, naive, at_memory in zip(
                        found.frequencies_mhz,
                        row.slowdowns,
                        found.naive,
                        row.at_memory or (None,) * len(row.slowdowns),
                        strict=False,
                    )
                ],
                "lowest_mhz": figure_document(row.lowest_mhz),
                "lowest_at_memory_mhz": figure_document(row.lowest_at_memory_mhz),
                "lowest_at_memory_because": because_document(row.unavailable_at_memory),
                "low_confidence": row.low_confidence,
                "because": because_document(row.unavailable),
            }
            for row in found.rows
        ],
        "rows_total": found.rows_total,
        "latencies": [coefficient_document(each) for each in found.latencies],
        "limits": list(found.limits),
        "left_out": reasons_document(found.left_out),
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency",
        summary="Slowdowns at other frequencies",
        description="The share of each application's time that waits for memory, and so does not depend on the "
        "frequency. The answer has predicted slowdowns and the lowest frequency that keeps a performance, "
        "beside the naive prediction, also for another memory frequency. The model uses misses and their "
        "latency; /analysis/frequency-fit needs neither where machines run at several frequencies.",
        response_model=FrequencyAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency(
        request: Request,
        selection: Selected,
        frequencies: Frequencies,
        latency_ns: Annotated[
            float | None,
            Query(
                ge=1,
                le=10_000,
                description="Nanoseconds of a miss on platforms without a figure. If it is not given, these platforms "
                "are left out.",
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_APPLICATIONS, description="Largest number of rows.")] = 20,
    ) -> Response:
        def document() -> Json:
            question = FrequencyQuestion(selection, frequencies.wanted, latency_ns, limit)
            return frequency_document(selection, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
