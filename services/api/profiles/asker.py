"""How the routes of profiles ask the query engine, and what may come of it."""

from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import CapacityLimiter
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from services.api.formats.forms import Forms, file_name
from services.api.kept_answers import KeptAnswers
from services.api.problems import described
from services.api.replies import zipped
from services.api.waiting import in_thread
from storage.query.engine import QueryEngine

PROBLEMS = described(
    {
        400: "The selection means nothing; `at` says where.",
        401: "Not signed in.",
        404: "No such campaign.",
        406: "The answer cannot be had in a form that Accept names; the hint lists those there are.",
        422: "A parameter is out of its range, or the question needs more memory than one may.",
        503: "The database does not answer, or the question takes too long.",
    }
)
"""By status, for the `responses` of a route."""

_Asked = TypeVar("_Asked")
_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks in threads, at most as many at once as `limiter` has; others wait their turn."""

    queries: QueryEngine
    limiter: CapacityLimiter
    answered: Callable[[], None]
    """Called after each answer, whatever came of it."""
    kept: KeptAnswers
    """Answers of a moment ago."""

    async def answer(self, request: Request, forms: Forms[_Asked], asked: _Asked) -> Response:
        """What was asked, in the form that the request wants; compressed if it allows that.

        Asking happens in a thread, when the form is written. Raises the Problems 406 and 422 before, and
        what asking raises.
        """
        form = forms.chosen(request)
        name = file_name(request, form)
        known = self.kept.answer(request)
        if known is not None:
            return known

        def make() -> Response:
            return zipped(
                request,
                form.write(asked),
                form.content_type,
                packed=form.packed,
                vary="Accept, Accept-Encoding",
                file_name=name,
            )

        asked_at = self.kept.now()
        try:
            made = await in_thread(request, self.limiter, self.queries.budget(), make)
        finally:
            self.answered()
        if isinstance(made, StreamingResponse):  # sent part by part, never whole
            made.body_iterator = self._until_sent(made.body_iterator)
            return made
        return self.kept.keep(request, made, asked_at=asked_at)

    async def _until_sent(self, parts: AsyncIterable[_Part]) -> AsyncIterator[_Part]:
        try:
            async for part in parts:
                yield part
        finally:
            self.answered()
