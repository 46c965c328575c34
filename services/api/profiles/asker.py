"""How the routes of profiles ask the query engine, and what may come of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter
from fastapi import Request, Response

from services.api.formats.forms import Forms, file_name
from services.api.problems import described
from services.api.replies import in_thread, zipped
from storage.query.engine import QueryEngine

PROBLEMS = described(
    {
        400: "The selection means nothing; `at` says where.",
        401: "Not signed in.",
        404: "No such campaign.",
        406: "The answer cannot be had in a form that Accept names; the hint lists those there are.",
        422: "A parameter is out of its range.",
        503: "The database does not answer, or not in time; Retry-After says when to ask again.",
    }
)
"""By status, for the `responses` of a route."""

_Asked = TypeVar("_Asked")


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks in threads, at most as many at once as `limiter` has; others wait their turn."""

    queries: QueryEngine
    limiter: CapacityLimiter
    answered: Callable[[], None]
    """Called after each answer, whatever came of it."""

    async def answer(self, request: Request, forms: Forms[_Asked], asked: _Asked) -> Response:
        """What was asked, in the form that the request wants; compressed if it allows that.

        Asking happens in a thread, when the form is written. Raises the Problems 406 and 422 before, and
        what asking raises.
        """
        form = forms.chosen(request)
        name = file_name(request, form)

        def make() -> Response:
            return zipped(
                request,
                form.write(asked),
                form.content_type,
                packed=form.packed,
                vary="Accept, Accept-Encoding",
                file_name=name,
            )

        try:
            return await in_thread(self.limiter, make)
        finally:
            self.answered()
