"""Arrival time of each call, before it queues for a thread: the start of a plan's time to live."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable

_arrived: Final[ContextVar[float]] = ContextVar("arrived")


class CallClock(grpc.ServerInterceptor):
    """Records the arrival time of each call; gRPC runs the handler in the same context."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Record the time and continue."""
        _arrived.set(time.monotonic())
        return continuation(handler_call_details)


def call_started_at() -> float:
    """Arrival time of the current call in CLOCK_MONOTONIC seconds; now if none was recorded."""
    return _arrived.get(time.monotonic())
