"""A/f + B fitted to measured times: /analysis/frequency-times. It uses no data of the fleet."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.frequency_parameters import Frequencies, FrequencyParameters
from services.api.analysis.frequency_runs import runs_of
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.frequency_times import FrequencyTimesAnswer
from storage.query.models.frequency_times import Timed, TimesQuestion

_LONGEST_RUNS = 40_000

_FORMS = forms_of(FrequencyTimesAnswer, "rows")


def times_question(runs: Sequence[Timed], asked: FrequencyParameters) -> TimesQuestion:
    """The question of a request about runs. Raises `BadSelection`."""
    return TimesQuestion(runs, asked.of_cores, asked.memory_mhz, asked.memory_target_mhz, asked.memory_part)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency-times",
        summary="Slowdowns from times at several frequencies",
        description="Fits A/f + B to times measured at two or more frequencies: of a run, of a request, or of any "
        "constant work. With C/f_mem if the memory frequency also varied. The route reads no fleet data and "
        "takes no selection.",
        response_model=described_by(FrequencyTimesAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency_times(
        request: Request,
        runs: Annotated[
            str,
            Query(
                max_length=_LONGEST_RUNS,
                description="MHz and seconds of each run, and the memory's MHz if it varies. Separate fields by colons "
                "and runs by commas.",
                examples=["1200:18.3,2400:10.1", "1200:18.3:2400,2400:10.1:2400,2400:9.7:3200"],
            ),
        ],
        frequencies: Frequencies,
    ) -> Response:
        def ask() -> FrequencyTimesAnswer:
            return times_question(runs_of(runs), frequencies).answer()

        return await handler.answer(request, _FORMS, ask)
