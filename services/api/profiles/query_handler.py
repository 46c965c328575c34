"""Runs the queries of profile routes in threads and encodes their answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from time import perf_counter
from typing import TypeVar

from anyio import CapacityLimiter
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from services.api.cache_control import OPEN, VARY, cache_control
from services.api.cancellable_threads import in_thread
from services.api.connections import cut_of
from services.api.encoded_response import zipped
from services.api.formats.forms import Forms, file_name
from services.api.problems import Problem, described
from services.api.response_cache import Key, ResponseCache, add_tag, if_changed
from services.api.server_timing import HEADER, Timing
from services.api.streamed_response import UNREAD_S, SendSlots, StreamedBody
from storage.query.query_engine import QueryEngine
from storage.snapshots.query_budget import Budget

PROBLEMS = described(
    {
        400: "The selection is not valid; `at` is the position of the mistake.",
        401: "Not signed in.",
        404: "No such campaign.",
        406: "No form in Accept is available; the hint lists the available forms.",
        422: "A parameter is unknown or out of its range, or the query needs more memory than its limit.",
        503: "The database does not respond, or the query takes too long.",
    }
)
"""By status, for the `responses` of a route."""

_Query = TypeVar("_Query")
_SENT_AT_ONCE = 4
"""Files of stacks sent at the same time. The largest takes 250 MB until its client has received it."""


@dataclass(frozen=True, slots=True)
class QueryHandler:
    """Runs queries in threads, at most as many at once as `limiter` allows; further ones wait."""

    queries: QueryEngine
    limiter: CapacityLimiter
    on_answered: Callable[[], None]
    """Called after each answer, whether it succeeded or not."""
    cache: ResponseCache

    send_slots: SendSlots = field(default_factory=lambda: SendSlots(_SENT_AT_ONCE))
    """For answers that are sent part by part."""
    unread_s: float = UNREAD_S
    """A client that accepts no part for this time is disconnected."""

    async def answer(self, request: Request, forms: Forms[_Query], query: _Query) -> Response:
        """The answer in the form that the request prefers, compressed if the request allows it.

        The query runs in a thread when the form is written. Raises the Problems 406 and 422 before the query, 503 for a
        file while too many are being sent, and what the query raises.
        """
        form = forms.chosen(request)
        name = file_name(request, form)
        key = Key.of(request, form.name)
        if not form.in_parts and (cached := self.cache.get(key, request)) is not None:
            return cached

        control = cache_control(request, datetime.now(UTC))
        queried_at = self.cache.now()
        timing = Timing(self.queries.budget(), perf_counter())

        def make() -> Response:
            with timing.writing():
                content = form.write(query)
            with timing.packing():
                made = zipped(
                    request,
                    content,
                    form.content_type,
                    packed=form.packed,
                    vary=VARY,
                    # A file is sent part by part and has no entity tag.
                    cache_control=OPEN if form.in_parts else control,
                    file_name=name,
                )
                if not form.in_parts:
                    add_tag(made)
                    if timing.budget.fewest_samples:
                        self.cache.put(key, made, queried_at=queried_at)
                    made = if_changed(request, made)
            made.headers[HEADER] = timing.header
            return made

        if form.in_parts:
            return await self._sent(request, timing.budget, make)
        return await self._made(request, timing.budget, make)

    async def _sent(self, request: Request, budget: Budget, make: Callable[[], Response]) -> Response:
        """The streamed answer. It never exists as a whole, so it is not cached."""
        if not self.send_slots.take():
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The limit of concurrent file downloads is reached.",
                kind="busy",
                hint="Retry later. `fleetprof export` writes the same file from the database.",
                headers={"Retry-After": "5"},
            )
        try:
            made = await self._made(request, budget, make)
        except BaseException:
            self.send_slots.release()
            raise
        assert isinstance(made, StreamingResponse)
        made.body_iterator = StreamedBody(
            made.body_iterator, self._was_sent, cut=cut_of(request), unread_s=self.unread_s
        )
        return made

    async def _made(self, request: Request, budget: Budget, make: Callable[[], Response]) -> Response:
        try:
            return await in_thread(request, self.limiter, budget, make)
        finally:
            self.on_answered()

    def _was_sent(self) -> None:
        self.send_slots.release()
        self.on_answered()
