"""Slots for requests that wait for another server. No caller can hold all of them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus

from anyio import Semaphore, fail_after

from services.api.problems import Problem


class UpstreamSlots:
    """For one event loop."""

    def __init__(
        self, places: int, *, of_one: int, patience_s: float, what: str = "downloads of sources"
    ) -> None:
        """One caller may hold `of_one` of the `places`; a request waits `patience_s` for one.

        `what` names the requests in the problem.
        """
        self._all = Semaphore(places)
        self._of_one = of_one
        self._patience_s = patience_s
        self._what = what
        self._of: dict[str, Semaphore] = {}

    @asynccontextmanager
    async def acquired(self, caller: str) -> AsyncIterator[None]:
        """Hold one of this caller's slots. Raises the Problem 503 if none is free in time."""
        own = self._of.setdefault(caller, Semaphore(self._of_one))
        try:
            async with AsyncExitStack() as held:
                try:
                    with fail_after(self._patience_s):
                        await held.enter_async_context(own)
                        await held.enter_async_context(self._all)
                except TimeoutError as error:
                    raise Problem(
                        HTTPStatus.SERVICE_UNAVAILABLE,
                        f"No slot for {self._what} was free for {self._patience_s:.0f} s.",
                        kind="busy",
                        hint="Retry later.",
                        headers={"Retry-After": "5"},
                    ) from error
                yield
        finally:
            if own.value == self._of_one and not own.statistics().tasks_waiting:
                self._of.pop(caller, None)
