"""The routes of experiments: runs of programs that share a chip, measured by operators (DIGEST I1, I8)."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import APIRouter, Depends, Query, Request, Response, Security
from fastapi import Path as PathParameter
from pydantic import Field

from services.api.api_model import ApiModel, Json
from services.api.auth import Access
from services.api.body import body_as_file
from services.api.encoded_response import as_json, in_thread, zipped
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import author_of, bearer_scheme, demand, session_scheme
from services.api.tokens import Role
from services.experiments.errors import UnusableExperiments
from services.experiments.experiment_csv import LARGEST_BYTES
from services.experiments.experiment_service import ExperimentService
from storage.errors import ExperimentsExist, TooManyExperiments

_PROBLEMS = described(
    {
        400: "The body does not match its headers.",
        401: "Not signed in.",
        403: "The caller's role is not operator.",
        404: "No experiments have this name.",
        408: "The body arrived too slowly.",
        409: "Experiments with this name exist already, or the largest number of sets is reached.",
        413: "The body is too large.",
        415: "The body has a Content-Encoding other than zstd, gzip and identity.",
        422: "A parameter is unknown or out of its range, or the file cannot be stored: the detail names lines "
        "and columns.",
        503: "The database does not respond. Retry-After has the seconds to wait.",
        507: "The server's disk is full.",
    }
)
_CONCURRENT_BODIES = 4
_SPLIT = "Split the file into several sets."
Name = Annotated[str, PathParameter(max_length=100, description="Name of the experiments.")]


class WatchedTarget(ApiModel):
    """An application with runs beside others."""

    application: str
    runs: int = Field(description="Runs beside other applications.")


class PlatformExperiments(ApiModel):
    """The part of a set for one platform."""

    platform: str
    alone: int = Field(description="Runs of an application alone.")
    beside: int = Field(description="Runs of a target beside others.")
    targets: list[WatchedTarget]
    programs: list[str] = Field(description="Applications whose pressure is known.")


class ExperimentSet(ApiModel):
    """One uploaded file of experiments."""

    name: str = Field(description="Name for the parameter `experiments` of other routes.")
    added_by: str
    added_at: str = Field(description="RFC 3339, UTC.")
    alone: int = Field(description="Runs of an application alone.")
    beside: int = Field(description="Runs of a target beside others.")
    platforms: list[PlatformExperiments]


class AddedExperiments(ExperimentSet):
    """The stored experiments."""

    unknown_platforms: list[str] = Field(
        description="Platforms without a machine in the inventory. They are only found by this exact name."
    )


class ExperimentSets(ApiModel):
    """All stored experiments, the newest first."""

    experiments: list[ExperimentSet]


class ExperimentRun(ApiModel):
    """One run: a line of the file."""

    line: int = Field(description="Line number from 1, including the heading.")
    platform: str
    target: str
    beside: list[str] = Field(description="Empty: the target ran alone.")
    metric: str | None = Field(description="time, cpi or ipc. Null: the run measured only pressure.")
    value: float | None = Field(description="Seconds, cycles per instruction, or instructions per cycle.")
    lines: float | None = Field(
        description="For a run alone: million lines per second into the shared cache."
    )
    gigabytes: float | None = Field(description="For a run alone: GB read and written per second.")
    cores: float | None = Field(description="For a run alone: cores that it kept busy.")


class ExperimentRuns(ExperimentSet):
    """One set with its runs."""

    rows: list[ExperimentRun]


class RemovedExperiments(ApiModel):
    """Deleted experiments."""

    name: str


def experiments_router(
    service: ExperimentService, access: Access, limiter: CapacityLimiter, folder: Path
) -> APIRouter:
    """The routes over these experiments. `folder` holds request bodies while they are read."""

    async def viewer(request: Request) -> None:
        demand(request, access, Role.VIEWER)

    async def operator(request: Request) -> None:
        demand(request, access, Role.OPERATOR)

    schemes = [Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]
    router = APIRouter(prefix="/api/v1", tags=["experiments"])
    reading: dict[str, Any] = {"dependencies": [Depends(viewer), *schemes]}
    changing: dict[str, Any] = {"dependencies": [Depends(operator), *schemes]}
    # Two limiters: a request that holds a slot for its body waits for a slot to decompress it.
    bodies, unpacking = CapacityLimiter(_CONCURRENT_BODIES), CapacityLimiter(1)

    async def answer(request: Request, make: Callable[[], Json]) -> Response:
        return await in_thread(limiter, lambda: zipped(request, *as_json(make())))

    @router.get(
        "/experiments",
        summary="List experiments",
        description="Uploaded files of runs, alone on a chip and beside others, the newest first.",
        response_model=ExperimentSets,
        responses=_only(401, 422, 503),
        **reading,
    )
    async def experiments(request: Request) -> Response:
        return await answer(request, service.listing)

    @router.post(
        "/experiments",
        summary="Upload experiments",
        description="The body is a CSV file in UTF-8 with the heading "
        "`platform,target,beside,metric,value,mlines_per_s,gb_per_s` and optionally `cores`. Each row is a "
        "run (docs/models.md). The file is stored as a whole; a file with any error is refused.",
        response_model=AddedExperiments,
        responses=_only(400, 401, 403, 408, 409, 413, 415, 422, 503, 507),
        openapi_extra=_BODY,
        **changing,
    )
    async def upload_experiments(
        request: Request,
        name: Annotated[str, Query(max_length=100, description="Name of the experiments.")],
        replace: Annotated[bool, Query(description="Replace existing experiments of this name.")] = False,
    ) -> Response:
        who = author_of(request, access)
        whole = body_as_file(request, folder, limit=LARGEST_BYTES, unpacking=unpacking, hint=_SPLIT)
        async with bodies, whole as path:

            def make() -> Json:
                try:
                    return service.add(name, path.read_bytes(), added_by=who, replace=replace)
                except UnusableExperiments as error:
                    status = HTTPStatus.UNPROCESSABLE_ENTITY
                    hint = "Nothing was stored. docs/models.md describes the columns."
                    raise Problem(status, str(error), kind="unusable-file", hint=hint) from error
                except ExperimentsExist as error:
                    hint = "Choose another name, or set replace=true."
                    raise Problem(HTTPStatus.CONFLICT, str(error), kind="exists", hint=hint) from error
                except TooManyExperiments as error:
                    hint = "DELETE /api/v1/experiments/{name} removes a set."
                    raise Problem(HTTPStatus.CONFLICT, str(error), kind="too-many", hint=hint) from error

            return await answer(request, make)

    @router.get(
        "/experiments/{name}",
        summary="One set of experiments",
        description="The summary of a set, and each of its runs.",
        response_model=ExperimentRuns,
        responses=_only(401, 404, 422, 503),
        **reading,
    )
    async def experiments_of_name(request: Request, name: Name) -> Response:
        return await answer(request, lambda: service.show(name))

    @router.delete(
        "/experiments/{name}",
        summary="Delete experiments",
        description="Afterwards, models are trained by other experiments or by visits.",
        response_model=RemovedExperiments,
        responses=_only(401, 403, 404, 422, 503),
        **changing,
    )
    async def remove_experiments(request: Request, name: Name) -> Response:
        return await answer(request, lambda: service.remove(name))

    return router


_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file.",
        "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _PROBLEMS[status] for status in statuses}
