"""How much longer applications would take at lower frequencies: /analysis/frequency."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.apu import Coefficient, coefficient_document
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
from storage.errors import BadSelection
from storage.query.models.frequency import MOST_APPLICATIONS, FrequencyQuestion
from storage.query.models.frequency import FrequencyAnswer as FoundFrequency
from storage.query.selections.selection import Selection


class Slowdown(Answer):
    """At one frequency."""

    mhz: float
    slowdown: Figure | None = Field(description="Time ratio − 1; below 0 is faster.")
    naive: float = Field(description="If all time were on the chip: base ÷ frequency − 1.")


class FrequencyRow(Answer):
    """One application."""

    application: str
    cpu_seconds: float = Field(
        description="Of the fleet in the covered time, by the visits that can be used."
    )
    visits: int
    off_chip: Figure | None = Field(
        description="Share of its time at the base frequency that waits for memory."
    )
    slowdowns: list[Slowdown]
    lowest_mhz: Figure | None = Field(
        description="Lowest frequency that keeps the wanted performance; null: none does, or nothing is known."
    )
    few: bool
    because: Because | None


class FrequencyAnswer(Answer):
    """Predicted slowdowns, each with what the model leaves out."""

    asked: AskedOf
    base_mhz: float | None
    performance: float
    rows: list[FrequencyRow]
    rows_total: int
    latencies: list[Coefficient] = Field(description="Nanoseconds of a miss by platform, that were used.")
    limits: list[str] = Field(description="What the model leaves out.")
    left_out: list[LeftOut]
    inputs: InputsAnswer
    because: Because | None


_FORMS = forms_of(FrequencyAnswer, "rows")


def frequency_document(selection: Selection, found: FoundFrequency) -> Json:
    """The answer of /analysis/frequency."""
    return {
        "asked": asked_document(selection),
        "base_mhz": found.base_mhz,
        "performance": found.performance,
        "rows": [
            {
                "application": row.application,
                "cpu_seconds": row.cpu_seconds,
                "visits": row.visits,
                "off_chip": figure_document(row.off_chip),
                "slowdowns": [
                    {"mhz": mhz, "slowdown": figure_document(slowdown), "naive": naive}
                    for mhz, slowdown, naive in zip(
                        found.frequencies_mhz, row.slowdowns, found.naive, strict=False
                    )
                ],
                "lowest_mhz": figure_document(row.lowest_mhz),
                "few": row.few,
                "because": because_document(row.unsaid),
            }
            for row in found.rows
        ],
        "rows_total": found.rows_total,
        "latencies": [coefficient_document(each) for each in found.latencies],
        "limits": list(found.limits),
        "left_out": reasons_document(found.left_out),
        "inputs": inputs_document(found.inputs),
        "because": because_document(found.unsaid),
    }


def frequencies_of(text: str) -> tuple[float, ...]:
    """Frequencies in MHz, comma-separated. Raises `BadSelection`."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadSelection(
            f"{text[:80]!r} is no list of frequencies.", hint="mhz=1200,2000", parameter="mhz"
        ) from error


def add(router: APIRouter, asker: Asker) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency",
        summary="Slowdowns at other frequencies",
        description="How much of each application's time waits for memory, and so does not depend on the frequency; predicted "
        "slowdowns, and the lowest frequency that keeps a performance, beside the naive prediction.",
        response_model=FrequencyAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        base_mhz: Annotated[
            float | None,
            Query(
                ge=1, le=100_000, description="What slowdowns are against; else the mean of the busy CPUs."
            ),
        ] = None,
        mhz: Annotated[
            str,
            Query(
                max_length=500,
                description="Frequencies, comma-separated; empty: from the base to half of it.",
            ),
        ] = "",
        performance: Annotated[
            float, Query(gt=0, le=1, description="Of that at the base frequency, to be kept.")
        ] = 0.9,
        latency_ns: Annotated[
            float | None,
            Query(
                ge=1,
                le=10_000,
                description="Of a miss, on platforms without a figure; else they are left out.",
            ),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_APPLICATIONS, description="Rows to show.")] = 20,
    ) -> Response:
        def document() -> Json:
            question = FrequencyQuestion(
                selection, base_mhz, frequencies_of(mhz), performance, latency_ns, limit
            )
            return frequency_document(selection, asker.queries.ask(question))

        return await asker.answer(request, _FORMS, document)
