"""Error responses: problem documents of RFC 9457.

This is the only module that maps storage errors to HTTP statuses. Beside the RFC's members a document has `hint` (what
to change), `request_id` (to find the request in the log), `parameter` (the one at fault) and `at` (the position of the
mistake in it, from 0).
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from services.api.api_model import ApiModel
from storage import errors
from storage.segments.errors import LakeBusy, LakeChanged, LakeUnavailable
from storage.symbols.errors import BadKey, SymbolFileChanged, SymbolFileTooLarge

MEDIA_TYPE = "application/problem+json"


class ProblemDocument(ApiModel):
    """An error (RFC 9457)."""

    type: str = Field(
        description="Identifier of the problem, for programs.",
        examples=["urn:fleetprof:problem:bad-selection"],
    )
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(
        description="The error, as a sentence.",
        examples=["Expected a closing brace at character 5, found the end."],
    )
    hint: str = Field(description="The fix, as a sentence; may be empty.")
    request_id: str = Field(
        description="Id of the request, also in the server's log.", examples=["9f86d081884c"]
    )
    parameter: str | None = Field(
        default=None,
        description="The invalid query parameter, if it is a single one.",
        examples=["select"],
    )
    at: int | None = Field(
        default=None,
        description="Position of the mistake in the parameter, in characters from 0, if known.",
    )


class Problem(Exception):
    """An error response, raised where a request fails."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        kind: str = "",
        hint: str = "",
        parameter: str = "",
        at: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """`kind` names the problem for programs; empty: the status suffices. `at` is a position in `parameter`."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.hint = hint
        self.parameter = parameter
        self.at = at
        self.headers = headers or {}

    def response(self, request_id: str) -> Response:
        """The problem document."""
        document: dict[str, object] = {
            "type": f"urn:fleetprof:problem:{self.kind}" if self.kind else "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            "hint": self.hint,
            "request_id": request_id,
        }
        if self.parameter:
            document["parameter"] = self.parameter
        if self.at is not None:
            document["at"] = self.at
        headers = {"Cache-Control": "no-store", **self.headers}
        content = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        return Response(content, status_code=int(self.status), media_type=MEDIA_TYPE, headers=headers)


def described(problems: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """OpenAPI `responses` of a route for these problems, a sentence by HTTP status."""
    return {
        status: {"description": description, "model": ProblemDocument}
        for status, description in problems.items()
    }


def of_storage(error: errors.StorageError) -> Problem:
    """The HTTP problem of a storage error."""
    text = str(error)
    match error:
        case errors.BadSelection():
            return Problem(
                HTTPStatus.BAD_REQUEST,
                text,
                kind="bad-selection",
                hint=error.hint,
                parameter=error.parameter,
                at=error.at,
            )
        case errors.BudgetExceeded(limit="memory"):
            return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, text, kind="too-much", hint=error.hint)
        case errors.BudgetExceeded():
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, kind="too-slow", hint=error.hint)
        case errors.QuestionDropped():
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, kind="dropped")
        case errors.UnknownCampaign():
            hint = "`fleetprof campaigns` lists the campaigns. The default campaign is fleet."
            return Problem(HTTPStatus.NOT_FOUND, text, kind="unknown-campaign", hint=hint)
        case errors.UnknownMachine():
            meant = f"Did you mean {' or '.join(error.near)}?" if error.near else ""
            hint = meant or "GET /api/v1/machines lists the machines."
            return Problem(HTTPStatus.NOT_FOUND, text, kind="unknown-machine", hint=hint)
        case errors.Unknown():
            return Problem(HTTPStatus.NOT_FOUND, text, kind="unknown")
        case errors.NameTaken():
            return Problem(HTTPStatus.CONFLICT, text, kind="exists", hint="Choose another name.")
        case errors.TooManyRows():
            return Problem(HTTPStatus.CONFLICT, text, kind="too-many")
        case errors.NotMigrated():
            # The text contains the command to run, which differs between a schema that is too new and one that is too
            # old.
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, kind="not-migrated")
        case errors.DatabaseBusy():
            hint = (
                "Retry the request. If it takes too long each time, choose a shorter time range or add a "
                "matcher."
            )
            return _passing(text, "busy", hint)
        case errors.DatabaseError():
            return _passing(text, "database", "Retry later. The server's log has the cause.")
        case errors.ArchiveUnavailable():
            return _passing(text, "archive", "Retry later. The server's log has the cause.")
        case LakeBusy():
            hint = "Choose a shorter time range or add a matcher."
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, text, kind="too-slow", hint=hint)
        case LakeChanged() | LakeUnavailable():
            return _passing(text, "lake", "Retry later. The server's log has the cause.")
        case BadKey():
            return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, text, kind="bad-key")
        case SymbolFileChanged():
            return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, text, kind="unusable-file")
        case SymbolFileTooLarge():
            return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, kind="too-large")
        case _:
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, text, kind="storage")


def install(app: FastAPI) -> None:
    """Answer every error of the app with a problem document."""

    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return error.response(request.state.request_id)

    @app.exception_handler(errors.StorageError)
    async def storage(request: Request, error: errors.StorageError) -> Response:
        return of_storage(error).response(request.state.request_id)

    @app.exception_handler(RequestValidationError)
    async def validation(request: Request, error: RequestValidationError) -> Response:
        return _of_validation(error).response(request.state.request_id)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        status = HTTPStatus(error.status_code)
        detail = f"{request.method} {request.url.path}: {status.description or status.phrase}."
        return Problem(status, detail, headers=dict(error.headers or {})).response(request.state.request_id)


def _of_validation(error: RequestValidationError) -> Problem:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "The body is not JSON.", kind="bad-parameter")
    name = ".".join(str(part) for part in first["loc"][1:]) or "body"
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"Invalid parameter `{name}`: {first['msg']}.",
        kind="bad-parameter",
        hint="/api/v1/openapi.json describes every parameter.",
        parameter=name,
    )


def _passing(detail: str, kind: str, hint: str) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, kind=kind, hint=hint, headers={"Retry-After": "2"})
