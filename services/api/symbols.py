"""The routes of symbols: missing symbols, stored files, uploads, and the progress of reprocessing."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from math import ceil
from pathlib import Path
from threading import Event
from typing import Annotated, Any

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi import Path as PathParameter

from services.api import symbol_models
from services.api.auth import Access
from services.api.body import body_as_file
from services.api.cancellable_threads import run_until_disconnect
from services.api.encoded_response import Made, as_json, in_thread, zipped
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import (
    author_of,
    bearer_scheme,
    caller_of,
    demand,
    role_of,
    session_scheme,
)
from services.api.tokens import Role
from services.api.upstream_slots import UpstreamSlots
from services.symbols import symbol_documents
from services.symbols.errors import NoSuchSymbols, NotYet, UnusableFile
from services.symbols.highlighting import highlighted
from services.symbols.symbol_service import MAX_FILES_PER_QUERY, MAX_LISTED, ListingQuery, SymbolService
from storage.symbols.missing_symbols import Order, Which

LARGEST_SOURCES: int = 512 << 20
"""Bytes of one archive of sources, decompressed."""
CONCURRENT_INSPECTIONS = 4
"""Uploads that are inspected at a time. Each may need an inspecting process, and the disk."""
CONCURRENT_TREES = 2
"""Archives of sources that are stored at a time. Each takes minutes, so they have slots apart from files with symbols.
"""
_CONCURRENT_BODIES = 32
"""Bodies arrive as slowly as their senders like, and need only the disk meanwhile."""
CONCURRENT_SOURCES = 4
"""Each may wait for a debuginfod server, so they have slots apart from queries."""
_SOURCES_OF_ONE = 2
"""At the same time, for one caller."""
_SOURCE_PATIENCE_S = 10.0
_LONGEST_KEY = 1024

_PROBLEMS = described(
    {
        400: "The body does not match its headers.",
        401: "Not signed in.",
        403: "The caller's role is not operator.",
        404: "There is no such binary or file.",
        408: "The body arrived too slowly.",
        413: "The body is too large.",
        415: "The body has a Content-Encoding other than zstd, gzip and identity.",
        422: "A parameter is unknown or out of its range, or the file cannot be used: the detail gives the "
        "reason.",
        503: "The database or the archive does not respond. Retry-After has the seconds to wait.",
        507: "The server's disk is full.",
    }
)

_SHA256 = re.compile("[0-9a-f]{64}")

_KEY = "Key of the binary: its build-id in hex, or `go:…` or `sha256:…` if it has none."
Key = Annotated[str, Query(description=_KEY, max_length=_LONGEST_KEY)]
KeyInPath = Annotated[str, PathParameter(description=_KEY, max_length=_LONGEST_KEY)]


def symbols_router(
    service: SymbolService,
    access: Access,
    limiter: CapacityLimiter,
    folder: Path,
    *,
    inspections: int = CONCURRENT_INSPECTIONS,
) -> APIRouter:
    """The routes over this repository. `folder` holds bodies while they are inspected, `inspections` at a time."""

    async def viewer(request: Request) -> None:
        demand(request, access, Role.VIEWER)

    async def operator(request: Request) -> None:
        demand(request, access, Role.OPERATOR)

    schemes = [Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]
    router = APIRouter(prefix="/api/v1", tags=["symbols"])
    reading: dict[str, Any] = {"dependencies": [Depends(viewer), *schemes]}
    changing: dict[str, Any] = {"dependencies": [Depends(operator), *schemes]}
    bodies, uploads = CapacityLimiter(_CONCURRENT_BODIES), CapacityLimiter(inspections)
    waiting = UpstreamSlots(CONCURRENT_SOURCES, of_one=_SOURCES_OF_ONE, patience_s=_SOURCE_PATIENCE_S)
    texts, trees = CapacityLimiter(CONCURRENT_SOURCES), CapacityLimiter(CONCURRENT_TREES)

    def allowed(request: Request) -> bool:
        return (role_of(request, access) or 0) >= Role.OPERATOR

    async def answer(
        request: Request, make: Callable[[], Made], places: CapacityLimiter = limiter
    ) -> Response:
        try:
            return await in_thread(places, lambda: zipped(request, *make()))
        except NotYet as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                str(error),
                kind="busy",
                hint="The operator sets the limit: FLEETPROF_SOURCE_FETCHES_PER_HOUR.",
                headers={"Retry-After": str(ceil(error.retry_s))},
            ) from error
        except NoSuchSymbols as error:
            raise Problem(HTTPStatus.NOT_FOUND, str(error), kind="unknown") from error

    @router.get(
        "/symbols",
        summary="Binaries by samples without names",
        description="Binaries in captures, with the samples that pass through their code without names, the files "
        "stored for them, and the progress of reprocessing with better symbols.",
        response_model=symbol_models.SymbolsAnswer,
        responses=_only(401, 422, 503),
        **reading,
    )
    async def symbols(
        *,
        request: Request,
        show: Annotated[
            Which,
            Query(
                description="missing: binaries with samples without names. all: binaries that ran, and binaries with "
                "stored files."
            ),
        ] = Which.MISSING,
        sort: Annotated[
            Order,
            Query(description="cpu: the CPU time without names. All keys but name sort the largest first."),
        ] = Order.CPU,
        find: Annotated[
            str,
            Query(
                max_length=200,
                description="Only binaries with this text in their name, path or key, regardless of case.",
            ),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED, description="Largest number of binaries.")] = 100,
        offset: Annotated[int, Query(ge=0, le=100_000_000, description="Number of binaries to skip.")] = 0,
        days: Annotated[
            int, Query(ge=1, le=35, description="Number of days, counted back from now, whose samples count.")
        ] = 1,
    ) -> Response:
        may, query = allowed(request), ListingQuery(show, sort, find, limit, offset, days)
        return await answer(
            request, lambda: as_json(symbol_documents.listing(service, service.listing(query), allowed=may))
        )

    @router.post(
        "/symbols",
        summary="Upload a file with symbols",
        description="The body is the file itself: an executable, a library, a kernel or module, a debug file, or split "
        "DWARF. `Content-Encoding: zstd` or `gzip` is welcome. The file's content determines its kind. "
        "Functions are named at once, in place. Captures that contain the binary are reprocessed "
        "afterwards; /symbols/{key} and /reprocessings show the progress.",
        response_model=symbol_models.UploadAnswer,
        responses=_only(400, 401, 403, 408, 413, 415, 422, 503, 507),
        openapi_extra=_body("application/octet-stream", "The file."),
        **changing,
    )
    async def upload_symbols(
        request: Request,
        name: Annotated[str, Query(max_length=255, description="Base name of the file, for display.")] = "",
    ) -> Response:
        who = author_of(request, access)
        async with (
            bodies,
            body_as_file(request, folder, limit=service.largest_bytes, unpacking=uploads) as path,
        ):

            def add() -> Made:
                done = service.add(path, name=name or "The file", uploaded_by=who)
                return as_json(symbol_documents.uploaded(done))

            with _refusing():
                # In one of the upload threads: a query must not wait for an inspection.
                made = await anyio.to_thread.run_sync(add, limiter=uploads)
            return zipped(request, *made)

    @router.get(
        "/debug-files",
        summary="Test which files are stored",
        description="The files of a list that are already stored, for uploaders to skip.",
        response_model=symbol_models.KnownFiles,
        responses=_only(401, 422, 503),
        **reading,
    )
    async def debug_files(
        request: Request,
        sha256: Annotated[
            list[str],
            Query(
                default_factory=list,
                max_length=MAX_FILES_PER_QUERY,
                description="SHA-256 of a file, hex; may be repeated.",
            ),
        ],
    ) -> Response:
        may, digests = allowed(request), [_digest(text) for text in sha256]

        def make() -> Made:
            found = service.known(digests)
            return as_json(
                symbol_documents.known(service, (f for files in found.values() for f in files), allowed=may)
            )

        return await answer(request, make)

    @router.get(
        "/symbols/{key:path}",
        summary="One binary's symbols",
        description="The files stored for a binary, the lookup tables built from them, the places without its symbols, "
        "the machines that were queried, and its last reprocessing.",
        response_model=symbol_models.BinaryAnswer,
        responses=_only(401, 404, 422, 503),
        **reading,
    )
    async def binary_symbols(request: Request, key: KeyInPath) -> Response:
        may = allowed(request)
        return await answer(
            request, lambda: as_json(symbol_documents.details(service, *service.show(key), allowed=may))
        )

    @router.delete(
        "/symbols/{key:path}/{sha256}",
        summary="Delete a file with symbols",
        description="The next best candidate replaces it. Captures that it may have named are reprocessed.",
        response_model=symbol_models.RemovedFile,
        responses=_only(401, 403, 404, 422, 503),
        **changing,
    )
    async def remove_symbols(
        request: Request,
        key: KeyInPath,
        sha256: Annotated[str, PathParameter(description="SHA-256 of the file, hex.")],
    ) -> Response:
        digest = _digest(sha256)
        return await answer(request, lambda: as_json(symbol_documents.removed(service.remove(key, digest))))

    @router.post(
        "/sources",
        summary="Upload the sources of a binary",
        description="The body is a tar archive of the files that the binary was built from. Each has its path at that "
        "time as its name, as in the debug information. `Content-Encoding: zstd` or `gzip` is welcome. "
        "Links and folders are skipped.",
        response_model=symbol_models.SourcesAnswer,
        responses=_only(400, 401, 403, 408, 413, 415, 422, 503, 507),
        openapi_extra=_body("application/x-tar", "The archive."),
        **changing,
    )
    async def upload_sources(request: Request, key: Key) -> Response:
        async with bodies, body_as_file(request, folder, limit=LARGEST_SOURCES, unpacking=uploads) as path:
            gone = Event()

            def add() -> Made:
                done = service.add_sources(key, path, stopping=gone.is_set)
                return as_json(done | {"sampled": service.is_sampled(key)})

            with _refusing():
                made = await run_until_disconnect(request, trees, gone.set, add)
            return zipped(request, *made)

    @router.get(
        "/source",
        summary="A source file",
        description="The text that a binary was built from: the uploaded one, else from a debuginfod server or a "
        "checkout. Only files of its known functions are available, including inlined ones; /lines names "
        "these files.",
        response_model=symbol_models.SourceAnswer,
        responses=_only(401, 404, 422, 503),
        **reading,
    )
    async def source(
        request: Request,
        binary: Key,
        path: Annotated[str, Query(description="Path as in the debug information.", max_length=_LONGEST_KEY)],
    ) -> Response:
        def make() -> Made:
            return as_json(symbol_documents.source(binary, path, service.source(binary, path)))

        async with waiting.acquired(caller_of(request, access)):
            return await answer(request, make, texts)

    @router.get(
        "/source/highlighting",
        summary="Syntax of a source file",
        description="Which parts of the text of /source are keywords, strings, comments and so on, by Pygments. It is a "
        "question of its own, so that a text is shown before its colours are known. `missing` says why there are none: "
        "the language is not known, or the text exceeds a limit.",
        response_model=symbol_models.HighlightingAnswer,
        responses=_only(401, 404, 422, 503),
        **reading,
    )
    async def highlighting(
        *,
        request: Request,
        binary: Key,
        path: Annotated[str, Query(description="Path as in the debug information.", max_length=_LONGEST_KEY)],
    ) -> Response:
        def make() -> Made:
            found = service.source(binary, path)
            return as_json(symbol_documents.highlighting(found, highlighted(path, found.text)))

        async with waiting.acquired(caller_of(request, access)):
            return await answer(request, make, texts)

    @router.get(
        "/reprocessings",
        summary="Progress of reprocessing",
        description="Reprocessings for better symbols: those in progress first, then the latest.",
        response_model=symbol_models.Reprocessings,
        responses=_only(401, 422, 503),
        **reading,
    )
    async def reprocessings(request: Request) -> Response:
        return await answer(request, lambda: as_json(symbol_documents.reprocessings(service.reprocessings())))

    return router


@contextmanager
def _refusing() -> Iterator[None]:
    """Turns an unusable file into the sender's Problem 422."""
    try:
        yield
    except UnusableFile as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), kind="unusable-file") from error


def _digest(text: str) -> bytes:
    if not _SHA256.fullmatch(text):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"{text[:80]!r} is not a SHA-256: expected 64 hexadecimal digits in lower case.",
            kind="bad-parameter",
        )
    return bytes.fromhex(text)


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _PROBLEMS[status] for status in statuses}


def _body(media_type: str, description: str) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "description": description, "content": content}}
