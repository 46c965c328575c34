"""Answers requests that cannot be decoded. gRPC alone would write a traceback into the log for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

import grpc
from google.protobuf.message import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Malformed:
    """Placeholder of an undecodable request until the handler can answer."""


_MALFORMED: Final = _Malformed()


class Malformed(grpc.ServerInterceptor):
    """Answers INVALID_ARGUMENT to bytes that are not a request of the method."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler and its decoder."""
        handler = continuation(handler_call_details)
        if handler is None or handler.request_deserializer is None:
            return handler
        decode, encode = handler.request_deserializer, handler.response_serializer

        def decoded(message: bytes) -> Any:
            try:
                return decode(message)
            except DecodeError:
                return _MALFORMED

        if handler.unary_unary is not None:
            answer = handler.unary_unary

            def answer_one(request: Any, context: grpc.ServicerContext) -> Any:
                return _deny(context) if request is _MALFORMED else answer(request, context)

            return grpc.unary_unary_rpc_method_handler(answer_one, decoded, encode)
        if handler.unary_stream is not None:
            stream = handler.unary_stream

            def answer_many(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
                if request is _MALFORMED:
                    _deny(context)
                yield from stream(request, context)

            return grpc.unary_stream_rpc_method_handler(answer_many, decoded, encode)
        return handler


def _deny(context: grpc.ServicerContext) -> NoReturn:
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the request is not a valid message")
