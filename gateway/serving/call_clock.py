"""When a call came in, queueing for a thread included: what a plan's time to live counts from."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable

_arrived: Final[ContextVar[float]] = ContextVar("arrived")


class CallClock(grpc.ServerInterceptor):
    """Notes the time of each call before it waits for a thread; gRPC runs its handler in the same context."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Note the time and go on."""
        _arrived.set(time.monotonic())
        return continuation(handler_call_details)


def call_started_at() -> float:
    """When the present call arrived, CLOCK_MONOTONIC seconds; now, where nobody noted it."""
    return _arrived.get(time.monotonic())
