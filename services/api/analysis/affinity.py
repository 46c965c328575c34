"""The assignment of applications to platforms that takes the fewest cycles: /analysis/affinity."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.affinity import AffinityAnswer
from storage.query.models.affinity import MOST_APPLICATIONS, AffinityQuestion

_FORMS = forms_of(AffinityAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/affinity",
        summary="Applications on the platforms that suit them",
        description="The assignment of work to platforms that takes the fewest cycles by measured CPI, within "
        "capacities, pins, floors and largest shares. The answer has the saving and the moves that matter.",
        response_model=described_by(AffinityAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def affinity(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        applications: Annotated[
            int,
            Query(
                ge=1,
                le=MOST_APPLICATIONS,
                description="Largest number of applications, those with most work first.",
            ),
        ] = 50,
        pinned: Annotated[
            str, Query(max_length=4000, description="Applications that stay where they are, comma-separated.")
        ] = "",
        largest_share: Annotated[
            float,
            Query(
                ge=0,
                le=1,
                description="Largest share of an application that one platform may hold, for availability.",
            ),
        ] = 1.0,
        floor: Annotated[
            float,
            Query(
                ge=0,
                le=1,
                description="Smallest share of an application's work on a platform that must stay there, for replicas.",
            ),
        ] = 0.0,
        room: Annotated[
            float,
            Query(ge=0, le=10, description="Share by which a platform may give more cycles than today."),
        ] = 0.0,
        cautious: Annotated[
            bool, Query(description="Make only moves that pay off at the worse ends of the intervals.")
        ] = True,
    ) -> Response:
        question = AffinityQuestion(
            selection,
            applications,
            tuple(name.strip() for name in pinned.split(",") if name.strip()),
            largest_share,
            floor,
            room,
            cautious,
        )
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
