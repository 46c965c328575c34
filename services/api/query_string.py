"""Checks a query string against the parameters of its route.

FastAPI ignores unknown parameters, so `?limt=3` would get the answer of the default limit.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from weakref import WeakKeyDictionary

from fastapi import Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from services.api.problems import Problem
from storage.query.selections.near_names import near_name

_LONGEST_SHOWN: Final = 40
"""Characters of a parameter name in an error."""
_TWICE: Final = 2
_taken: WeakKeyDictionary[Callable[..., Any], Mapping[str, bool]] = WeakKeyDictionary()
"""By endpoint, which is unique to a route: describing one takes 30 ms."""


async def only_what_is_taken(request: Request) -> None:
    """Raises the Problem 422 for a parameter that the route's description lacks or that is repeated.

    Routes without a description accept every parameter.
    """
    route = request.scope["route"]
    given = Counter(name for name, _ in request.query_params.multi_items())
    if not given or not isinstance(route, APIRoute) or not route.include_in_schema:
        return
    taken = _taken.get(route.endpoint)
    if taken is None:
        taken = _taken[route.endpoint] = _described(route)
    for name, times in given.items():
        shown = name[:_LONGEST_SHOWN]
        if name not in taken:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"{route.path_format} has no parameter {shown!r}.",
                kind="bad-parameter",
                hint=_meant(name, taken),
                parameter=shown,
            )
        if times > 1 and not taken[name]:
            often = "twice" if times == _TWICE else f"{times} times"
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"The parameter `{name}` is given {often}, but allowed once.",
                kind="bad-parameter",
                hint="Keep only one of them.",
                parameter=name,
            )


def _meant(name: str, taken: Mapping[str, bool]) -> str:
    meant = near_name(name, taken)
    if meant is not None:
        return f"Did you mean {meant}?"
    return f"Parameters: {', '.join(sorted(taken)) or 'none'}."


def _described(route: APIRoute) -> Mapping[str, bool]:
    """The route's query parameters, by whether they may be repeated."""
    document = get_openapi(title=route.name, version="", routes=[route])
    operations = (each for methods in document["paths"].values() for each in methods.values())
    return {
        parameter["name"]: parameter["schema"].get("type") == "array"
        for operation in operations
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    }
