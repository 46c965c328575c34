"""GIVEN places for requests WHEN one caller wants all of them THEN others have theirs, and nobody waits for ever."""

from contextlib import AsyncExitStack
from http import HTTPStatus

import anyio
import pytest

from services.api.problems import Problem
from services.api.upstream_slots import UpstreamSlots

SOON, LATER = 0.05, 60.0


def test_one_caller_holds_a_part_of_the_places() -> None:
    async def ask() -> None:
        places = UpstreamSlots(4, of_one=2, patience_s=SOON)
        async with AsyncExitStack() as held:
            for _ in range(2):
                await held.enter_async_context(places.acquired("greedy"))
            with pytest.raises(Problem) as refused:
                await held.enter_async_context(places.acquired("greedy"))
            assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
            assert refused.value.headers["Retry-After"]
            for _ in range(2):
                await held.enter_async_context(places.acquired("another"))
            with pytest.raises(Problem):
                await held.enter_async_context(places.acquired("third"))
        # All are free again, whoever was refused.
        async with AsyncExitStack() as held:
            for caller in ("greedy", "greedy", "third", "third"):
                await held.enter_async_context(places.acquired(caller))

    anyio.run(ask)


def test_who_waits_gets_the_place_that_becomes_free() -> None:
    async def ask() -> None:
        places = UpstreamSlots(1, of_one=1, patience_s=LATER)
        served: list[str] = []
        free = anyio.Event()

        async def one(caller: str) -> None:
            async with places.acquired(caller):
                served.append(caller)
                if caller == "first":
                    await free.wait()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "first")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(one, "second")
            await anyio.wait_all_tasks_blocked()
            assert served == ["first"]
            free.set()
        assert served == ["first", "second"]

    anyio.run(ask)


def test_an_error_of_a_request_is_its_own_and_frees_its_place() -> None:
    async def ask() -> None:
        places = UpstreamSlots(1, of_one=1, patience_s=SOON)
        with pytest.raises(TimeoutError):
            async with places.acquired("one"):
                raise TimeoutError
        async with places.acquired("one"):
            pass

    anyio.run(ask)
