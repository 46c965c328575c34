"""The routes of deploys: marks that operators set when they roll out a version."""

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import APIRouter, Depends, Request, Response, Security
from fastapi import Path as PathParameter
from pydantic import Field

from services.api.api_model import ApiModel, Json
from services.api.auth import Access
from services.api.encoded_response import as_json, in_thread, zipped
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import author_of, bearer_scheme, demand, session_scheme
from services.api.tokens import Role
from services.deploys.deploy_service import LONGEST_LINK, LONGEST_NAME, LONGEST_TEXT, DeployService
from services.deploys.errors import UnusableDeploy
from storage.errors import TooManyDeploys

_LONGEST_TIME = 64
_LARGEST_ID = (1 << 31) - 1
_PROBLEMS = described(
    {
        401: "Not signed in.",
        403: "The caller's role is not operator.",
        404: "No mark has this id.",
        409: "The largest number of marks is reached.",
        413: "The body is too large.",
        422: "A member is missing, unknown or not valid.",
        503: "The database does not respond. Retry-After has the seconds to wait.",
    }
)


class NewMark(ApiModel):
    """A deploy to be marked."""

    application: str = Field(
        min_length=1, max_length=LONGEST_NAME, description="As the label `application` of profiles."
    )
    version: str = Field(min_length=1, max_length=LONGEST_NAME, description="As the label `version`.")
    at: str = Field(
        default="now",
        max_length=_LONGEST_TIME,
        description="Start of the deploy: RFC 3339, a date, seconds since 1970, or relative such as now-2h.",
    )
    text: str = Field(default="", max_length=LONGEST_TEXT, description="Description.")
    link: str = Field(default="", max_length=LONGEST_LINK, description="http or https URL.")


class Mark(ApiModel):
    """A marked deploy; /changes lists it with kind mark."""

    deploy_id: int
    application: str
    version: str
    at: str = Field(description="RFC 3339, UTC.")
    text: str
    link: str = Field(description="http or https URL; empty: none.")
    added_by: str


class RemovedMark(ApiModel):
    """A deleted mark."""

    deploy_id: int


def deploys_router(service: DeployService, access: Access, limiter: CapacityLimiter) -> APIRouter:
    """The routes over these marks, for callers with the role operator."""

    async def operator(request: Request) -> None:
        demand(request, access, Role.OPERATOR)

    router = APIRouter(
        prefix="/api/v1",
        tags=["deploys"],
        dependencies=[
            Depends(operator),
            Security(session_scheme),
            Security(bearer_scheme),
            Depends(only_what_is_taken),
        ],
    )

    async def answer(request: Request, make: Callable[[], Json], status: HTTPStatus) -> Response:
        made = await in_thread(limiter, lambda: zipped(request, *as_json(make())))
        made.status_code = status
        return made

    @router.post(
        "/deploys",
        summary="Mark a deploy",
        description="Marks the start of the roll-out of a version. /changes and charts show it.",
        response_model=Mark,
        status_code=HTTPStatus.CREATED,
        responses=_only(401, 403, 409, 413, 422, 503),
    )
    async def add_deploy(request: Request, mark: NewMark) -> Response:
        who = author_of(request, access)

        def make() -> Json:
            try:
                return service.add(
                    mark.application,
                    mark.version,
                    at=mark.at,
                    text=mark.text,
                    link=mark.link,
                    added_by=who,
                    now=datetime.now(UTC),
                )
            except UnusableDeploy as error:
                status = HTTPStatus.UNPROCESSABLE_ENTITY
                raise Problem(status, str(error), kind="bad-parameter", parameter=error.member) from error
            except TooManyDeploys as error:
                hint = "DELETE /api/v1/deploys/{id} removes a mark."
                raise Problem(HTTPStatus.CONFLICT, str(error), kind="too-many", hint=hint) from error

        return await answer(request, make, HTTPStatus.CREATED)

    @router.delete(
        "/deploys/{deploy_id}",
        summary="Delete the mark of a deploy",
        description="Afterwards, /changes no longer lists it. Profiles and first sights are not affected.",
        response_model=RemovedMark,
        responses=_only(401, 403, 404, 422, 503),
    )
    async def remove_deploy(
        request: Request,
        deploy_id: Annotated[
            int, PathParameter(ge=1, le=_LARGEST_ID, description="Id of the mark, as in /changes.")
        ],
    ) -> Response:
        return await answer(request, lambda: service.remove(deploy_id), HTTPStatus.OK)

    return router


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _PROBLEMS[status] for status in statuses}
