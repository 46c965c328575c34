"""Code that is cold in each program and hot across the fleet, its cost, and a function's users: /shared-code."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.callers import FunctionId, FunctionName
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.shared_code import SharedCodeAnswer, UsersAnswer
from storage.query.shapes import users
from storage.query.shapes.shared_code import MOST_ROWS, SharedCodeQuestion
from storage.query.shapes.users import UsersQuestion
from storage.query.subject import parse_subject

_SHARED = forms_of(SharedCodeAnswer, "rows")
_USERS = forms_of(UsersAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler, price_per_core_hour: float | None) -> None:
    """Add the routes. Amounts of money need a price."""

    @router.get(
        "/shared-code",
        summary="Code with a small share in each program and a large cost in the fleet",
        description="Functions, files or binaries that several applications use and that have a small share in each. "
        "The answer has their cost to the fleet, and the value of a saving.",
        response_model=described_by(SharedCodeAnswer),
        responses=PROBLEMS,
        openapi_extra=_SHARED.openapi,
    )
    async def shared_code(
        *,
        request: Request,
        selection: Selected,
        by: Annotated[
            Literal["function", "file", "binary"], Query(description="Kind of code: one row for each.")
        ] = "function",
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "self",
        cold: Annotated[
            float,
            Query(ge=0, le=1, description="Omit code that certainly has a larger share of some application."),
        ] = 0.05,
        applications: Annotated[
            int, Query(ge=1, le=1_000_000, description="Omit code that fewer applications use.")
        ] = 2,
        saving: Annotated[
            float, Query(ge=0, le=1, description="Part of the cost that counts as `saved`.")
        ] = 0.1,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        own = share == "self"
        question = SharedCodeQuestion(
            selection, by, own, cold, applications, limit, saving, price_per_core_hour
        )
        return await handler.answer(request, _SHARED, lambda: handler.queries.ask(question))

    @router.get(
        "/shared-code/users",
        summary="Users of a function",
        description="The applications, or other values of labels, whose stacks contain a function, and the function's "
        "callers there.",
        response_model=described_by(UsersAnswer),
        responses=PROBLEMS,
        openapi_extra=_USERS.openapi,
    )
    async def shared_code_users(
        *,
        request: Request,
        selection: Selected,
        function_id: FunctionId = None,
        function: FunctionName = "",
        by: Annotated[
            str,
            Query(
                description="Labels, separated by commas.",
                examples=["application", "application,version"],
                max_length=500,
            ),
        ] = "application",
        limit: Annotated[int, Query(ge=1, le=users.MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        subject = parse_subject(function_id=function_id, function=function)
        question = UsersQuestion(selection, subject, keys_of(by), limit)
        return await handler.answer(request, _USERS, lambda: handler.queries.ask(question))
