"""An application's slowdown beside others on a chip: /analysis/interference."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.named_numbers import named_numbers
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.interference import InterferenceAnswer
from storage.query.models.interference import TargetQuestion

Experiments = Annotated[
    str,
    Query(
        max_length=100,
        description="The uploaded experiments that train the model (/experiments). Empty: the fleet's visits, or the "
        "newest suitable experiments if the visits are not enough; see `source`.",
    ),
]
_FORMS = forms_of(InterferenceAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/interference",
        summary="Slowdown of an application beside others",
        description="The degradation of one application as a function of the total pressure on its chip: lines into the "
        "shared cache, and memory bandwidth. Visits of machines with one socket train it, or uploaded "
        "experiments. The answer has the prediction for a mix, beside the mean.",
        response_model=described_by(InterferenceAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def interference(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        target: Annotated[
            str,
            Query(min_length=1, max_length=500, description="The application to explain."),
        ],
        platform: Annotated[
            str,
            Query(
                max_length=500,
                description="Platform of the chips. Empty: the platform with most visits, or runs, of the target.",
            ),
        ] = "",
        beside: Annotated[
            str,
            Query(
                max_length=8000,
                description="A mix to predict: neighbours and the cores that each keeps busy, `feed:4,etl:1.5`. Default "
                "number of cores: 1, or with experiments as many as in the neighbour's run alone.",
            ),
        ] = "",
        cores: Annotated[
            float | None,
            Query(
                gt=0,
                le=10_000,
                description="Cores that the target keeps busy in the mix. Default: its average.",
            ),
        ] = None,
        peak_gbs: Annotated[
            float | None,
            Query(
                ge=0.1,
                le=100_000,
                description="GB/s of a chip's memory. Default: the calibrated figure, or the largest observed.",
            ),
        ] = None,
        experiments: Experiments = "",
    ) -> Response:
        def answer() -> InterferenceAnswer:
            mix = tuple(named_numbers(beside, "beside"))
            question = TargetQuestion(selection, target, platform, mix, cores, peak_gbs, experiments)
            return handler.queries.ask(question)

        return await handler.answer(request, _FORMS, answer)
