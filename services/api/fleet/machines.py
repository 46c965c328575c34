"""The inventory: /machines, and one machine of it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.problems import described
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.machines import MachineAnswer, MachinesAnswer, MachineState
from storage.query.shapes.machine import MachineQuestion
from storage.query.shapes.machines import LONGEST_FIND, MOST, MachineSort, MachinesQuestion

_FORMS = forms_of(MachinesAnswer, "machines")
_ONE = forms_of(MachineAnswer)
_UNKNOWN = described({404: "The inventory has no machine of this name; the hint has similar names."})
_STATES: dict[str, MachineState | None] = {
    "all": None,
    "ok": "ok",
    "failing": "failing",
    "never_visited": "never_visited",
    "disabled": "disabled",
}


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the routes."""

    @router.get(
        "/machines",
        summary="The machines of the inventory",
        description="Each with its labels, its state, its last visit, and how busy it was when it last answered.",
        response_model=described_by(MachinesAnswer),
        responses={status: PROBLEMS[status] for status in (400, 401, 406, 422, 503)},
        openapi_extra=_FORMS.openapi,
        tags=["fleet"],
    )
    async def machines(
        *,
        request: Request,
        find: Annotated[
            str,
            Query(
                max_length=LONGEST_FIND,
                pattern=r"^[^\x00]*$",
                description="Only machines with this text in their name, datacenter, cluster, platform, kernel or a "
                "label, as `key=value`; regardless of case.",
            ),
        ] = "",
        state: Annotated[
            Literal["all", "ok", "failing", "never_visited", "disabled"],
            Query(description="Only machines in this state."),
        ] = "all",
        sort: Annotated[
            MachineSort, Query(description="Unknown values are last; equal ones are sorted by name.")
        ] = MachineSort.NAME,
        order: Annotated[Literal["asc", "desc"], Query(description="Smallest or largest first.")] = "asc",
        limit: Annotated[int, Query(ge=1, le=MOST, description="Largest number of machines.")] = 100,
        offset: Annotated[int, Query(ge=0, le=100_000_000, description="Number of machines to skip.")] = 0,
    ) -> Response:
        question = MachinesQuestion(find, _STATES[state], sort, order == "desc", limit, offset)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))

    @router.get(
        "/machines/{name}",
        summary="One machine",
        description="What its gateway describes, its latest visits, and the reasons of its failures in the last week.",
        response_model=described_by(MachineAnswer),
        responses={**{status: PROBLEMS[status] for status in (401, 406, 422, 503)}, **_UNKNOWN},
        openapi_extra=_ONE.openapi,
        tags=["fleet"],
    )
    async def machine_of_name(
        request: Request,
        name: Annotated[str, PathParameter(max_length=256, description="Name of the machine.")],
    ) -> Response:
        question = MachineQuestion(name)
        return await handler.answer(request, _ONE, lambda: handler.queries.ask(question))
