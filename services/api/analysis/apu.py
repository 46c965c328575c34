"""The used share of the cores' capacity: /analysis/apu."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.apu import ApuAnswer
from storage.query.models.apu import MOST_ROWS, ApuQuestion
from storage.query.observed.machines import LABELS
from storage.query.selections.matchers import APPLICATION

_FORMS = forms_of(ApuAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/apu",
        summary="Capacity used, by APU",
        description="On cores with two threads, CPU utilisation overstates the capacity that is left. Adjusted "
        "processor utilisation (APU) weights the time with both threads busy by the cost of overlap "
        "(`fleetprof calibrate smt`). Cycle counters give the time that both threads are busy where "
        "machines have them. Elsewhere threads are assumed to be busy independently of each other.",
        response_model=described_by(ApuAnswer),
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
        question = ApuQuestion(selection, by, coefficient, limit)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
