"""How the routes of profiles ask the query engine, and what may come of it."""

from collections.abc import Callable
from dataclasses import dataclass

from anyio import CapacityLimiter
from fastapi import Request, Response

from services.api.problems import described
from services.api.replies import Made, in_thread, zipped
from storage.query.engine import QueryEngine

PROBLEMS = described(
    {
        400: "The selection means nothing; `at` says where.",
        401: "Not signed in.",
        404: "No such campaign.",
        422: "A parameter is out of its range.",
        503: "The database does not answer, or not in time; Retry-After says when to ask again.",
    }
)
"""By status, for the `responses` of a route."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks in threads, at most as many at once as `limiter` has; others wait their turn."""

    queries: QueryEngine
    limiter: CapacityLimiter
    answered: Callable[[], None]
    """Called after each answer, whatever came of it."""

    async def answer(self, request: Request, make: Callable[[], Made]) -> Response:
        """What `make` made, compressed if the request allows it."""
        try:
            return await in_thread(self.limiter, lambda: zipped(request, *make()))
        finally:
            self.answered()
