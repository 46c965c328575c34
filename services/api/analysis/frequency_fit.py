"""Applications' time as a function of the frequency, in a fleet that runs at several: /analysis/frequency-fit."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.frequency_parameters import Frequencies
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.frequency_fit import FrequencyFitAnswer
from storage.query.models.frequency_fit import MOST_ROWS, FitQuestion

_FORMS = forms_of(FrequencyFitAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency-fit",
        summary="Slowdowns where machines run at several frequencies",
        description="Fits A/f + B to the time that an application's instructions took on machines of one platform at "
        "different frequencies, without misses or latencies. The answer has the share of time that waits, "
        "slowdowns at other frequencies, the lowest frequency that keeps a performance, and the error of "
        "predicting each frequency from the others.",
        response_model=described_by(FrequencyFitAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency_fit(
        request: Request,
        selection: Selected,
        frequencies: Frequencies,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 20,
    ) -> Response:
        def ask() -> FrequencyFitAnswer:
            return handler.queries.ask(FitQuestion(selection, frequencies.wanted, limit))

        return await handler.answer(request, _FORMS, ask)
