"""Asking in threads for somebody who may not wait for the answer.

A thread cannot be ended, and its place must be given to the next question once, when it is free. So nothing
here is abandoned: when the client has gone the question is told to stop, and ends by itself soon.
"""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter, create_task_group
from fastapi import Request, Response

from storage.snapshots.query_budget import Budget, Stop, offered

Made = TypeVar("Made")


async def in_thread(
    request: Request, limiter: CapacityLimiter, budget: Budget, make: Callable[[], Response]
) -> Response:
    """What `make` made in one of the limiter's threads, the question it asks bounded by the budget.

    Raises what `make` raises; `storage.errors.QuestionDropped` if the client has gone.
    """
    with offered(budget):
        return await run_until_disconnect(request, limiter, lambda: budget.stop(Stop.DROPPED), make)


async def run_until_disconnect(
    request: Request, limiter: CapacityLimiter, stop: Callable[[], object], make: Callable[[], Made]
) -> Made:
    """What `make` made in one of the limiter's threads; `stop` is called in another if the client goes meanwhile.

    The body must have been read. Raises what `make` raises.
    """
    failed: list[BaseException] = []
    made: list[Made] = []
    async with create_task_group() as tasks:
        tasks.start_soon(_stop_on_disconnect, request, stop)
        # Raised inside, an error would come out of the group wrapped in another.
        try:
            made.append(await anyio.to_thread.run_sync(make, limiter=limiter))
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)
        tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return made[0]


async def _stop_on_disconnect(request: Request, stop: Callable[[], object]) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    # It may speak to the database's server, which may be slow to take a new connection.
    await anyio.to_thread.run_sync(stop)
