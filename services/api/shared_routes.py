"""What the routes of tokens, saved views and prices have in common."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal

from anyio import CapacityLimiter
from fastapi import Depends, Request, Response, Security

from services.access.errors import UnusableEntry
from services.api.api_model import Json
from services.api.auth import Access
from services.api.encoded_response import as_json, in_thread, zipped
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import bearer_scheme, demand, session_scheme
from services.api.tokens import Role

RoleWord = Literal["viewer", "operator", "admin"]
_PROBLEMS = described(
    {
        400: "The body is not text in UTF-8.",
        401: "Not signed in.",
        403: "The caller's role is too low.",
        404: "Nothing has this name or id.",
        409: "The name is taken, or the largest number is reached.",
        422: "The body or a parameter is not valid.",
        503: "The database does not respond. Retry-After has the seconds to wait.",
    }
)
_CONCURRENT = 2
"""Requests of one router that use the database at a time; further ones wait."""


def responses_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems with these statuses, for `responses` of a route."""
    return {status: _PROBLEMS[status] for status in statuses}


class SharedRoutes:
    """What these routers have in common: roles, and answers from the database."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._limiter = CapacityLimiter(_CONCURRENT)

    def needing(self, least: Role) -> dict[str, Any]:
        """Options of a route for callers with this role."""

        async def check(request: Request) -> None:
            demand(request, self._access, least)

        schemes = [Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]
        return {"dependencies": [Depends(check), *schemes]}

    async def answer(self, request: Request, make: Callable[[], Json]) -> Response:
        """The document, made in a thread. Raises the Problem 422 for an `UnusableEntry`."""

        def made() -> Response:
            try:
                return zipped(request, *as_json(make()))
            except UnusableEntry as error:
                status = HTTPStatus.UNPROCESSABLE_ENTITY
                raise Problem(
                    status, str(error), kind="bad-parameter", hint=error.hint, parameter=error.parameter
                ) from error

        return await in_thread(self._limiter, made)
