"""The data API over HTTP: two streaming routes (docs/data-api.md)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from anyio import CancelScope, CapacityLimiter
from fastapi import APIRouter, Depends, Query, Request, Security
from google.protobuf.message import Message
from starlette.responses import Response, StreamingResponse

from fleetpb import data_pb2
from services.api.auth import Access
from services.api.connections import cut_of
from services.api.formats.accept import accept_encoding, parse_accept
from services.api.parameters import Selected
from services.api.problems import Problem
from services.api.profiles.query_handler import PROBLEMS
from services.api.query_string import only_what_is_taken
from services.api.request_auth import bearer_scheme, caller_of, demand, session_scheme
from services.api.tokens import Role
from services.data_api.content_coding import Packer, Plain, chosen
from services.data_api.cursor import LONGEST as LONGEST_CURSOR
from services.data_api.framing import Framing
from services.data_api.query_parameters import (
    DEFAULT_TO,
    LEAST_RECORD_BYTES,
    MOST_RECORD_BYTES,
    StreamQuery,
    make_query,
)
from services.data_api.stream_service import StreamService
from services.data_api.stream_slots import STREAMS, Holder
from services.data_api.stream_writer import StreamWriter
from storage.data.cancellation import Stop

_REFUSING = 4
_Read = TypeVar("_Read", bytes, bytes | None)
_CONTENT = {each.value: {"schema": {"type": "string", "format": "binary"}} for each in Framing}

Cursor = Annotated[
    str,
    Query(
        description="Cursor of the last received record: the stream resumes after it.",
        max_length=LONGEST_CURSOR,
    ),
]
Follow = Annotated[
    bool, Query(description="Do not end: send visits that are ingested (captures: archived) from now on.")
]
RecordBytes = Annotated[
    int | None,
    Query(
        description="Largest record. A larger one is sent without its content, as RECORD_TOO_LARGE.",
        ge=LEAST_RECORD_BYTES,
        le=MOST_RECORD_BYTES,
    ),
]


def data_router(service: StreamService, access: Access) -> APIRouter:
    """The two routes, for callers with the roles that they need."""
    router = APIRouter(
        prefix="/api/v1/data", tags=["data"], dependencies=[Security(session_scheme), Security(bearer_scheme)]
    )
    limiter = CapacityLimiter(STREAMS + _REFUSING)

    def demanding(least: Role) -> Any:
        async def check(request: Request) -> None:
            demand(request, access, least)

        return Depends(check)

    async def stream(
        request: Request,
        kind: type[Message],
        query: StreamQuery,
        make: Callable[[StreamQuery, Stop], Iterator[Message]],
        packed: tuple[str, Packer],
    ) -> Response:
        framing = _framing(", ".join(request.headers.getlist("accept")))
        coding, packer = packed
        stop = Stop()
        holder = Holder(caller_of(request, access), follows=query.follow)
        records = service.serve(stop, lambda: make(query, stop), holder=holder, cut=cut_of(request))
        writer = StreamWriter(records, kind, stop, alone=query.follow)

        async def in_thread(read: Callable[[Framing, Packer], _Read]) -> _Read:
            # The thread is abandoned if the caller disconnects; `_end` ends its stream.
            return await anyio.to_thread.run_sync(
                read, framing, packer, limiter=limiter, abandon_on_cancel=True
            )

        # The first record is read before the status line is sent, so an error of the query becomes a problem document.
        first = await _unless_gone(request, stop, lambda: in_thread(writer.first))

        async def batches() -> AsyncIterator[bytes]:
            try:
                batch: bytes | None = first
                while batch is not None:
                    yield batch
                    batch = await in_thread(writer.batch)
                yield packer.end()
            finally:
                await _end(writer)

        headers = {
            "Cache-Control": "no-store",
            "Content-Encoding": coding,
            "Vary": "Accept, Accept-Encoding",
            "X-Accel-Buffering": "no",  # nginx would buffer records until its buffer is full
        }
        return StreamingResponse(batches(), media_type=framing.value, headers=headers)

    @router.get(
        "/profiles",
        summary="Symbolized profiles, visit by visit",
        description="A stream of `ProfileRecord`s (proto/fleetpb/data.proto), as delimited protobuf or NDJSON. Each "
        "record has a `cursor`; the same query with this cursor resumes after the record. A stream is "
        "complete if it ends with a `progress` that is `done`.",
        response_class=StreamingResponse,
        responses={200: {"content": _CONTENT}, **PROBLEMS},
        dependencies=[demanding(Role.VIEWER), Depends(only_what_is_taken)],
    )
    async def data_profiles(
        *,
        request: Request,
        selection: Selected,
        cursor: Cursor = "",
        follow: Follow = False,
        max_record_bytes: RecordBytes = None,
        only_matching: Annotated[
            bool, Query(description="Omit visits that watched and saw nothing that matches.")
        ] = False,
    ) -> Response:
        query = make_query(
            "profiles",
            selection,
            _times(request),
            cursor=cursor,
            follow=follow,
            record_bytes=max_record_bytes or MOST_RECORD_BYTES,
            only_matching=only_matching,
        )
        packed = chosen(accept_encoding(request.headers))
        return await stream(request, data_pb2.ProfileRecord, query, service.streams.profiles, packed)

    @router.get(
        "/captures",
        summary="Raw captures, visit by visit",
        description="A stream of `CaptureRecord`s, as in /data/profiles. It needs the role operator: a capture contains "
        "paths, control groups, containers and the description of its machine.",
        response_class=StreamingResponse,
        responses={200: {"content": _CONTENT}, **PROBLEMS},
        dependencies=[demanding(Role.OPERATOR), Depends(only_what_is_taken)],
    )
    async def data_captures(
        *,
        request: Request,
        selection: Selected,
        cursor: Cursor = "",
        follow: Follow = False,
        max_record_bytes: RecordBytes = None,
    ) -> Response:
        query = make_query(
            "captures",
            selection,
            _times(request),
            cursor=cursor,
            follow=follow,
            record_bytes=max_record_bytes or MOST_RECORD_BYTES,
        )
        # Captures are compressed already.
        return await stream(
            request, data_pb2.CaptureRecord, query, service.streams.captures, ("identity", Plain())
        )

    return router


def _times(request: Request) -> tuple[str, str]:
    return request.query_params.get("from", ""), request.query_params.get("to", DEFAULT_TO)


def _framing(accept: str) -> Framing:
    """NDJSON, unless the header prefers protobuf."""
    wanted = parse_accept(accept)
    best = max((Framing.NDJSON, Framing.PROTOBUF), key=lambda framing: wanted.quality(framing.value))
    if not wanted.quality(best.value):
        raise Problem(
            HTTPStatus.NOT_ACCEPTABLE,
            "This route has none of the media types in Accept.",
            kind="not-acceptable",
            hint=f"Accept {Framing.NDJSON.value} or {Framing.PROTOBUF.value}.",
        )
    return best


async def _unless_gone(request: Request, stop: Stop, read: Callable[[], Awaitable[bytes]]) -> bytes:
    """The result of `read`; a disconnect of the caller ends its stream. Raises `Problem`."""
    problem: Problem | None = None
    found = b""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        # It calls the database server, which may answer slowly.
        await anyio.to_thread.run_sync(stop.set)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            found = await read()
        except Problem as error:  # raised inside the group, it would be wrapped
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return found


async def _end(writer: StreamWriter) -> None:
    """End the stream, even if the caller has disconnected and this task is cancelled."""
    with CancelScope(shield=True):
        await anyio.to_thread.run_sync(writer.end)
