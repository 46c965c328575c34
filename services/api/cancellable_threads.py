"""Runs queries in threads and cancels them when the client disconnects.

A thread cannot be killed, and its slot may be reused only when it is free. So no thread is abandoned: when the client
disconnects, the query is cancelled and ends at its next checkpoint.
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
    """The response of `make`, run in one of the limiter's threads; its query is bounded by the budget.

    Raises what `make` raises, and `storage.errors.QuestionDropped` if the client has disconnected.
    """
    with offered(budget):
        return await run_until_disconnect(request, limiter, lambda: budget.stop(Stop.DROPPED), make)


async def run_until_disconnect(
    request: Request, limiter: CapacityLimiter, stop: Callable[[], object], make: Callable[[], Made]
) -> Made:
    """The result of `make`, run in one of the limiter's threads; another thread calls `stop` if the client disconnects.

    The request's body must have been read. Raises what `make` raises.
    """
    failed: list[BaseException] = []
    made: list[Made] = []
    async with create_task_group() as tasks:
        tasks.start_soon(_stop_on_disconnect, request, stop)
        # Raised inside the task group, an error would leave it wrapped in an exception group.
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
    # It may call the database server, which may accept a new connection slowly.
    await anyio.to_thread.run_sync(stop)
