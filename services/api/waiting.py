"""Asking in threads for somebody who may not wait for the answer.

A thread cannot be ended, and its place must be given to the next question once, when it is free. So nothing
here is abandoned: when the client has gone the question is told to stop, and ends by itself soon.
"""

from collections.abc import Callable

import anyio.to_thread
from anyio import CapacityLimiter, create_task_group
from fastapi import Request, Response

from storage.query.budget import Budget, Stop, offered


async def in_thread(
    request: Request, limiter: CapacityLimiter, budget: Budget, make: Callable[[], Response]
) -> Response:
    """What `make` made in one of the limiter's threads, the question it asks bounded by the budget.

    Raises what `make` raises; `storage.errors.QuestionDropped` if the client has gone.
    """
    failed: list[BaseException] = []
    made: list[Response] = []
    async with create_task_group() as tasks:
        tasks.start_soon(_stop_when_gone, request, budget)
        # Raised inside, an error would come out of the group wrapped in another.
        try:
            with offered(budget):
                made.append(await anyio.to_thread.run_sync(make, limiter=limiter))
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)
        tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return made[0]


async def _stop_when_gone(request: Request, budget: Budget) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    # It speaks to the database's server, which may be slow to take a new connection.
    await anyio.to_thread.run_sync(budget.stop, Stop.DROPPED)
