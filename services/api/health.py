"""/healthz, /readyz and /metrics, for process supervisors and monitoring.

A loopback address grants no access: a proxy on this machine forwards requests of other machines from loopback, possibly
without a header that names them.
"""

from http import HTTPStatus

import structlog
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.api.auth import Access
from services.api.metrics import Metrics
from services.api.problems import of_storage
from services.api.request_auth import demand, role_of
from services.api.tokens import Role
from storage.errors import StorageError
from storage.query.query_engine import QueryEngine
from storage.query.shapes.readiness import ReadinessQuestion

_log = structlog.get_logger("fleetprof.api")

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def health_router(queries: QueryEngine, metrics: Metrics, access: Access) -> APIRouter:
    """The three routes. Metrics, and the reason why the process is not ready, need the role viewer."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> Response:
        return JSONResponse({"status": "alive"})

    @router.get("/readyz")
    def readyz(request: Request) -> Response:
        try:
            queries.ask(ReadinessQuestion())
        except StorageError as error:
            problem = of_storage(error)
            problem.status = HTTPStatus.SERVICE_UNAVAILABLE
            if role_of(request, access) is None:  # the error names hosts, users and databases
                _log.warning("not ready", database=str(error))
                problem.detail = (
                    "The store does not respond, or its schema belongs to another version. The log has the "
                    "cause."
                )
            return problem.response(request.state.request_id)
        return JSONResponse({"status": "ready"})

    @router.get("/metrics")
    def scrape(request: Request) -> Response:
        # By old records too: metrics show that the database fails, and nothing of profiles.
        demand(request, access, Role.VIEWER, by_old_records=True)
        return Response(metrics.text(), media_type=_PROMETHEUS)

    return router
