"""The web application: its routes and the middleware around them."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, create_task_group, sleep, to_thread
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.datastructures import Headers
from starlette.middleware.gzip import (
    DEFAULT_EXCLUDED_CONTENT_TYPES,
    GZipMiddleware,
    GZipResponder,
    IdentityResponder,
)
from starlette.types import Receive, Scope, Send

from services.access.price_service import PriceService
from services.access.token_service import TokenService
from services.access.view_service import ViewService
from services.api import problems
from services.api.auth import Access
from services.api.experiments import experiments_router
from services.api.fleet.operator_routes import operator_router
from services.api.formats import pprof
from services.api.formats.accept import GZIP, accept_encoding, accepted_codings
from services.api.health import health_router
from services.api.malloc_trim import MallocTrimmer
from services.api.metrics import Metrics
from services.api.pages import STATIC, ui_router
from services.api.price_routes import prices_router
from services.api.request_auth import SessionRenewal
from services.api.request_limits import RequestLimits
from services.api.request_log import RequestLog
from services.api.response_cache import ResponseCache
from services.api.routes import api_router
from services.api.sign_in import sign_in_router
from services.api.symbols import CONCURRENT_INSPECTIONS, LARGEST_SOURCES, symbols_router
from services.api.token_routes import tokens_router
from services.api.view_routes import views_router
from services.data_api.http_routes import data_router
from services.data_api.stream_service import StreamService
from services.disassembly.service import DisassemblyService
from services.experiments.experiment_csv import LARGEST_BYTES
from services.experiments.experiment_service import ExperimentService
from services.fleet.fleet_service import FleetService
from services.symbols.symbol_service import SymbolService
from storage.errors import StorageError
from storage.query.query_engine import QueryEngine
from storage.query.shapes.operations import OperationsQuestion
from storage.query.shapes.readiness import ReadinessQuestion
from storage.query.shapes.status import IngestionQuestion

CONCURRENT_QUERIES = 4
"""Queries that run at the same time. Each holds one database connection."""

_BETWEEN_LOOKS_S = 0.25
"""Pause between two checks whether the database has its tables."""

_DESCRIPTION = """Where a fleet's CPU cycles go: symbolized samples of random visits, grouped by any of their dimensions.

Every route takes the same selection: an event, a time range, label matchers, and filters on functions.
Errors are problem documents (RFC 9457). Their `hint` describes the fix.
"""


class _Described(FastAPI):
    """An app whose OpenAPI document describes errors as the problem documents that they are."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        described = self.openapi_schema is not None
        document = super().openapi()
        if not described:
            for operation in (o for methods in document["paths"].values() for o in methods.values()):
                for status, response in operation["responses"].items():
                    if int(status) >= HTTPStatus.BAD_REQUEST:
                        response["content"] = {
                            problems.MEDIA_TYPE: response["content"].pop("application/json")
                        }
        return document


class _Zipping(GZipMiddleware):
    """Starlette's GZipMiddleware with this API's parser of `Accept-Encoding`: `gzip;q=0`, `*`, several lines."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, compressed if the client accepts gzip."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        responder = (
            GZipResponder(
                self.app,
                self.minimum_size,
                compresslevel=self.compresslevel,
                thread_minimum_size=self.thread_minimum_size,
                exclude_content_types=self.exclude_content_types,
            )
            if GZIP in accepted_codings(accept_encoding(Headers(scope=scope)))
            else IdentityResponder(
                self.app, self.minimum_size, exclude_content_types=self.exclude_content_types
            )
        )
        await responder(scope, receive, send)


def create_app(
    queries: QueryEngine,
    access: Access,
    *,
    allowed_hosts: Collection[str] = (),
    static: Path = STATIC,
    secure: bool = False,
    concurrent_queries: int = CONCURRENT_QUERIES,
    price_per_core_hour: float | None = None,
    symbols: SymbolService | None = None,
    uploads: Path = Path("/tmp"),  # noqa: S108 - files there have no names
    inspections: int = CONCURRENT_INSPECTIONS,
    connections: Callable[[], int] | None = None,
    data: StreamService | None = None,
    experiments: ExperimentService | None = None,
    fleet: FleetService | None = None,
    cache: ResponseCache | None = None,
    instructions: DisassemblyService | None = None,
    shared: Engine | None = None,
) -> FastAPI:
    """Build the application over these queries. The caller closes them.

    `allowed_hosts`: names besides the loopback ones that the Host header may have. `static`: the folder of the built
    web UI; it may be missing. `secure`: the app is served over TLS. `price_per_core_hour`: in any currency; None:
    unknown. `symbols`: the symbol repository; None: its routes are missing. `uploads`: the folder for request bodies.
    `inspections`: uploads that are inspected at a time. `connections`: the number of database connections in use, for
    the metrics. `data`: the data API's streams; None: its routes are missing. `experiments`: uploaded experiments;
    None: their routes are missing. `fleet`: operators' changes; None: their routes are missing. `cache`: of responses;
    None: no response is cached. `instructions`: of functions; None: their route is missing. `shared`: the database of API
    tokens, saved views and prices; None: their routes are missing.
    """
    cache = cache or ResponseCache(0, ttl_s=0.0)
    metrics = Metrics(
        lambda: queries.ask(IngestionQuestion()),
        lambda: queries.ask(OperationsQuestion()),
        lambda: {**queries.caches(), "responses": cache.size},
        connections,
        cache,
        streams=None if data is None else lambda: data.slots.open,
    )
    malloc_trimmer = MallocTrimmer()

    async def warm() -> bool:
        """Map the file of stacks; False: the database has no tables yet."""
        found = await to_thread.run_sync(_has_tables, queries)
        if found:
            await to_thread.run_sync(queries.warm)
        return found

    async def warm_later() -> None:
        """`warm` once the tables exist: `up` creates them while this process imports its modules."""
        while not await warm():  # noqa: ASYNC110 - a database sends no event
            await sleep(_BETWEEN_LOOKS_S)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Before the first request: without the file a query reads every stack that it needs from the database.
        mapped = await warm()
        # Before the first request: without the records of sign-in it would be refused.
        with suppress(StorageError):
            await to_thread.run_sync(access.records.refresh)
        async with create_task_group() as tasks:
            tasks.start_soon(malloc_trimmer.trim_periodically)
            tasks.start_soon(access.records.refresh_periodically)
            if not mapped:
                tasks.start_soon(warm_later)
            yield
            tasks.cancel_scope.cancel()

    app = _Described(
        title="fleetprof",
        version=version("fleetprof"),
        summary="Fleet-wide profiles",
        description=_DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # their pages load scripts from other hosts, which the security policy forbids
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    problems.install(app)
    limiter = CapacityLimiter(concurrent_queries)
    app.include_router(
        api_router(
            queries,
            access,
            limiter,
            on_answered=malloc_trimmer.note,
            cache=cache,
            price_per_core_hour=price_per_core_hour,
            instructions=instructions,
        )
    )
    largest_bodies: dict[str, int] = {}
    if symbols is not None:
        app.include_router(symbols_router(symbols, access, limiter, uploads, inspections=inspections))
        largest_bodies = {"/api/v1/symbols": symbols.largest_bytes, "/api/v1/sources": LARGEST_SOURCES}
    if experiments is not None:
        app.include_router(experiments_router(experiments, access, limiter, uploads))
        largest_bodies["/api/v1/experiments"] = LARGEST_BYTES
    if fleet is not None:
        app.include_router(operator_router(fleet, access, limiter))
    if data is not None:
        app.include_router(data_router(data, access))
    app.include_router(health_router(queries, metrics, access))
    app.include_router(sign_in_router(access))
    if shared is not None:
        app.include_router(tokens_router(TokenService(shared, access.records.refresh), access))
        app.include_router(views_router(ViewService(shared), access))
        app.include_router(prices_router(PriceService(shared, price_per_core_hour), access))
    app.include_router(ui_router(static))
    # The middleware added last is the outermost.
    app.add_middleware(
        _Zipping,
        minimum_size=1400,
        exclude_content_types=(*DEFAULT_EXCLUDED_CONTENT_TYPES, pprof.MEDIA_TYPE),
    )
    app.add_middleware(SessionRenewal)
    app.add_middleware(
        RequestLimits, allowed_hosts=allowed_hosts, secure=secure, largest_bodies=largest_bodies
    )
    app.add_middleware(RequestLog, metrics=metrics)
    return app


def _has_tables(queries: QueryEngine) -> bool:
    try:
        queries.ask(ReadinessQuestion())
    except StorageError:
        return False
    return True
