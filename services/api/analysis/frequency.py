"""Predicted slowdowns of applications at lower frequencies: /analysis/frequency."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.frequency_parameters import Frequencies
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.frequency import FrequencyAnswer
from storage.query.models.frequency import MOST_APPLICATIONS, FrequencyQuestion

_FORMS = forms_of(FrequencyAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency",
        summary="Slowdowns at other frequencies",
        description="The share of each application's time that waits for memory, and so does not depend on the "
        "frequency. The answer has predicted slowdowns and the lowest frequency that keeps a performance, "
        "beside the naive prediction, also for another memory frequency. The model uses misses and their "
        "latency; /analysis/frequency-fit needs neither where machines run at several frequencies.",
        response_model=described_by(FrequencyAnswer),
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
        def ask() -> FrequencyAnswer:
            return handler.queries.ask(FrequencyQuestion(selection, frequencies.wanted, latency_ns, limit))

        return await handler.answer(request, _FORMS, ask)
