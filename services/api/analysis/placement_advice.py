"""Placement of applications on shared machines: /analysis/placement."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.analysis.interference import Experiments
from services.api.analysis.named_numbers import named_numbers
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.placement import PlacementAnswer
from storage.query.models.placement import MOST_MACHINES, MOST_TENANTS, PlacementQuestion

_FORMS = forms_of(PlacementAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/placement",
        summary="Place programs on machines with little slowdown",
        description="The best placement found for programs on equal machines. It keeps targets for degradation where "
        "possible, then minimises the sum of degradations, by the functions of /analysis/interference.",
        response_model=described_by(PlacementAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def placement(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        tenants: Annotated[
            str,
            Query(
                min_length=1,
                max_length=20_000,
                description="Programs, comma-separated, each with the largest degradation it may suffer, if limited: "
                "`checkout:0.1,feed,feed`. An application that occurs twice is two programs.",
            ),
        ],
        machines: Annotated[int, Query(ge=1, le=MOST_MACHINES, description="Number of machines.")],
        slots: Annotated[
            int, Query(ge=1, le=MOST_TENANTS, description="Largest number of programs on a machine.")
        ] = 2,
        platform: Annotated[
            str,
            Query(
                max_length=500,
                description="Platform of the machines. Empty: the platform with most visits, or runs.",
            ),
        ] = "",
        peak_gbs: Annotated[
            float | None,
            Query(
                ge=0.1,
                le=100_000,
                description="GB/s of a chip's memory. Default: the calibrated figure, or the largest observed.",
            ),
        ] = None,
        cautious: Annotated[
            bool, Query(description="Keep targets even at the upper end of the prediction's interval.")
        ] = False,
        experiments: Experiments = "",
    ) -> Response:
        def answer() -> PlacementAnswer:
            wanted = tuple(named_numbers(tenants, "tenants"))
            question = PlacementQuestion(
                selection, wanted, machines, slots, platform, peak_gbs, cautious, experiments
            )
            return handler.queries.ask(question)

        return await handler.answer(request, _FORMS, answer)
