"""The gRPC service `DataApi`."""

import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import NoReturn, TypeVar

import grpc
import structlog

from fleetpb import data_pb2, data_pb2_grpc
from services.api.problems import Problem, of_storage
from services.api.tokens import Role
from services.data_api.grpc_auth import GrpcAuth
from services.data_api.query_parameters import of_message
from services.data_api.stream_service import StreamService
from services.data_api.stream_slots import Holder
from storage.data.cancellation import Stop
from storage.errors import StorageError

_Record = TypeVar("_Record")
_CODES = {
    HTTPStatus.BAD_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    HTTPStatus.UNPROCESSABLE_ENTITY: grpc.StatusCode.INVALID_ARGUMENT,
    HTTPStatus.UNAUTHORIZED: grpc.StatusCode.UNAUTHENTICATED,
    HTTPStatus.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    HTTPStatus.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS: grpc.StatusCode.RESOURCE_EXHAUSTED,
    HTTPStatus.SERVICE_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
}
"""By the HTTP status of the same problem; INTERNAL for any other."""

log = structlog.get_logger("fleetprof.data")


class DataService(data_pb2_grpc.DataApiServicer):
    """Streams to callers of one address; each stream holds a thread of the server."""

    def __init__(self, service: StreamService, auth: GrpcAuth) -> None:
        self._service = service
        self._auth = auth

    def Profiles(  # noqa: N802 - the name of the call
        self, request: data_pb2.ProfileQuery, context: grpc.ServicerContext
    ) -> Iterator[data_pb2.ProfileRecord]:
        """Symbolized profiles, for viewers."""
        context.set_compression(grpc.Compression.Gzip)  # names repeat from record to record
        return self._answer(
            context,
            Role.VIEWER,
            lambda stop: self._service.streams.profiles(of_message("profiles", request), stop),
            follows=request.follow,
        )

    def Captures(  # noqa: N802 - the name of the call
        self, request: data_pb2.CaptureQuery, context: grpc.ServicerContext
    ) -> Iterator[data_pb2.CaptureRecord]:
        """Raw captures, for operators; they are compressed already."""
        return self._answer(
            context,
            Role.OPERATOR,
            lambda stop: self._service.streams.captures(of_message("captures", request), stop),
            follows=request.follow,
        )

    def _answer(
        self,
        context: grpc.ServicerContext,
        least: Role,
        make: Callable[[Stop], Iterator[_Record]],
        *,
        follows: bool,
    ) -> Iterator[_Record]:
        stop = Stop()
        # In a thread: gRPC runs the callbacks of all calls in one, and ending a stream waits for its reader.
        if not context.add_callback(threading.Thread(target=stop.set, name="data-stop").start):
            return  # the caller has disconnected already
        try:
            holder = Holder(self._auth.demand(context, least), follows=follows)
            yield from self._service.serve(stop, lambda: make(stop), holder=holder, cut=context.cancel)
        except StorageError as error:  # in the query, before the stream began
            _abort(context, of_storage(error))
        except Problem as problem:
            if context.is_active():
                _abort(context, problem)


def _abort(context: grpc.ServicerContext, problem: Problem) -> NoReturn:
    """End the call with the problem's status. Its hint and position are sent as metadata."""
    trailers = {
        "fleetprof-kind": problem.kind,
        "fleetprof-hint": problem.hint,
        "fleetprof-retry-after": problem.headers.get("Retry-After", ""),
    }
    if problem.at is not None:
        trailers["fleetprof-at"] = str(problem.at)
    # Metadata is ASCII; a hint may quote a name that is not.
    context.set_trailing_metadata(
        tuple(
            (key, text.encode("ascii", "backslashreplace").decode()) for key, text in trailers.items() if text
        )
    )
    code = _CODES.get(problem.status, grpc.StatusCode.INTERNAL)
    if code is grpc.StatusCode.INTERNAL:
        log.error("stream failed", detail=problem.detail)
    context.abort(code, problem.detail)
