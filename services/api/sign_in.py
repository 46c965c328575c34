"""The routes of sign-in: links, tokens, sessions and signing out."""

from datetime import UTC, datetime
from http import HTTPStatus
from math import ceil
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Depends, Request, Security
from pydantic import Field
from starlette.responses import JSONResponse, RedirectResponse, Response

from services.api.api_model import ApiModel
from services.api.auth import Access
from services.api.connection_limits import peer_of
from services.api.failed_attempts import FailedAttempts
from services.api.login_links import LoginRefused
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import (
    Proof,
    bearer_scheme,
    demand,
    is_secure,
    session_of,
    session_scheme,
    undecided,
)
from services.api.sessions import Session, cookie_header
from services.api.shared_routes import RoleWord
from services.api.sign_in_page import page
from services.api.tokens import Role
from storage.query.selections.times import format_time

_NO_STORE = {"Cache-Control": "no-store"}
_LONGEST_TOKEN: Final = 500
_PROBLEMS = described(
    {
        400: "The body is not text in UTF-8.",
        401: "Not signed in, or the token is not valid.",
        403: "The caller may not do this: the detail says why.",
        422: "The body or a parameter is not valid.",
        429: "Too many wrong tokens came from this address. Retry-After has the seconds to wait.",
        503: "The database does not respond. Retry-After has the seconds to wait.",
    }
)


class SignInWays(ApiModel):
    """How a reader of this server can sign in."""

    command: str | None = Field(
        description="Command that prints a login link, for the user who started this server with `fleetprof up`. Null: "
        "only `fleetprof url --api URL` with an API token makes one."
    )


class SignInByToken(ApiModel):
    """An API token, exchanged for a session."""

    token: str = Field(max_length=_LONGEST_TOKEN)


class CurrentSession(ApiModel):
    """Who the caller is."""

    kind: Literal["session", "token"]
    role: RoleWord
    name: str | None = Field(description="Name of a created API token; null for other callers.")
    ends_at: str | None = Field(description="RFC 3339, UTC. When it ends in any case; null: it has no end.")
    unused_ends_at: str | None = Field(
        description="RFC 3339, UTC. When the session ends if no further request uses it; null for a token."
    )


class OpenedSession(CurrentSession):
    """A new session; its cookie is in the response's headers."""

    binding: str = Field(description="Value of the header X-Fleetprof-Session for requests of this session.")


class LoginLinkOptions(ApiModel):
    """The login link to make."""

    role: RoleWord | None = Field(default=None, description="Role of the session; null: that of the caller.")


class NewLoginLink(ApiModel):
    """A link that works once."""

    path: str = Field(description="Path and query, below the address of this server.")
    role: RoleWord
    expires_at: str = Field(description="RFC 3339, UTC. Unused until then, it expires.")


def sign_in_router(access: Access) -> APIRouter:
    """Routes for callers who are not signed in yet, and for what a caller knows of itself."""
    router = APIRouter(tags=["sign-in"])
    failed = FailedAttempts()

    async def viewer(request: Request) -> None:
        demand(request, access, Role.VIEWER)

    guards = [Depends(viewer), Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]

    @router.get("/login", include_in_schema=False)
    def login(request: Request, token: str = "") -> Response:
        try:
            halves = access.open_by_link(token[:_LONGEST_TOKEN])
        except LoginRefused as error:
            return page(HTTPStatus.FORBIDDEN, "Not signed in", str(error), access.link_command)
        response = RedirectResponse(f"/#session={halves.binding}", HTTPStatus.SEE_OTHER, headers=_NO_STORE)
        response.headers["Set-Cookie"] = cookie_header(halves.cookie, secure=is_secure(request.scope))
        return response

    @router.get(
        "/api/v1/sign-in",
        summary="How to sign in",
        description="Needs no sign-in. It has the command that prints a login link for a server of `fleetprof up`, with "
        "its state directory if that is not the default one.",
        response_model=SignInWays,
        responses=_only(422),
        dependencies=[Depends(only_what_is_taken)],
    )
    async def sign_in() -> Response:
        return JSONResponse({"command": access.link_command}, headers=_NO_STORE)

    @router.post(
        "/login",
        summary="Sign in with an API token",
        description="Opens a session with the role of the token. It ends at the latest when the token does.",
        response_model=OpenedSession,
        responses=_only(400, 401, 422, 429, 503),
        dependencies=[Depends(only_what_is_taken)],
    )
    def post_login(request: Request, body: Annotated[SignInByToken, Body()]) -> Response:
        address = _address_of(request)
        if (wait_s := failed.wait_s(address)) > 0:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "Too many wrong tokens came from this address.",
                kind="too-many",
                hint=f"Retry in {ceil(wait_s)} seconds.",
                headers={"Retry-After": str(ceil(wait_s))},
            )
        token = access.find_token(body.token.strip())
        if (token is None or token.token_id is not None) and not access.records.is_current:
            raise undecided()
        if token is None:
            failed.note(address)
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "This token is not valid: it is mistyped, expired or revoked.",
                kind="bad-token",
                hint="Check the token, or ask an administrator for a new one: fleetprof tokens create NAME",
            )
        halves = access.open_by_token(token)
        session = access.sessions.find(halves.cookie, halves.binding)
        assert session is not None
        document = {**_document(Proof(token.role, session=session)), "binding": halves.binding}
        response = JSONResponse(document, headers=_NO_STORE)
        response.headers["Set-Cookie"] = cookie_header(halves.cookie, secure=is_secure(request.scope))
        return response

    @router.post("/logout", include_in_schema=False)
    def logout(request: Request) -> Response:
        if session := session_of(request, access):
            access.sessions.end(session)
        response = Response(status_code=HTTPStatus.NO_CONTENT, headers=_NO_STORE)
        response.headers["Set-Cookie"] = cookie_header("", secure=is_secure(request.scope))
        return response

    @router.get(
        "/api/v1/session",
        summary="The caller's role",
        description="Which role the caller has, by a session or a token, and when that ends.",
        response_model=CurrentSession,
        responses=_only(401, 422, 503),
        dependencies=guards,
    )
    async def current_session(request: Request) -> Response:
        proof = demand(request, access, Role.VIEWER)
        return JSONResponse(_document(proof), headers=_NO_STORE)

    @router.post(
        "/api/v1/login-links",
        summary="Make a login link",
        description="A link that works once, within 12 hours, and opens a session with this role. The caller needs a "
        "token and at least this role: a session could otherwise prolong itself.",
        response_model=NewLoginLink,
        responses=_only(400, 401, 403, 422, 503),
        dependencies=guards,
    )
    async def make_login_link(request: Request, body: Annotated[LoginLinkOptions, Body()]) -> Response:
        least = Role.VIEWER if body.role is None else Role[body.role.upper()]
        proof = demand(request, access, least)
        if proof.token is None:
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "A session cannot make login links.",
                kind="needs-token",
                hint="Send the header Authorization: Bearer with an API token, without a session.",
            )
        role = proof.role if body.role is None else least
        path, expires_at = access.link_by_token(proof.token, role)
        document = {"path": path, "role": role.word, "expires_at": _time(expires_at)}
        return JSONResponse(document, headers=_NO_STORE)

    return router


def _address_of(request: Request) -> str:
    """The address that wrong tokens count for."""
    try:
        return peer_of(request.client)
    except ValueError:  # a name, as of the peer of a Unix socket
        return request.client.host if request.client else ""


def _document(proof: Proof) -> dict[str, Any]:
    if proof.token is not None:
        expires_at = proof.token.expires_at
        return {
            "kind": "token",
            "role": proof.role.word,
            "name": proof.token.name or None,
            "ends_at": None if expires_at is None else _time(expires_at),
            "unused_ends_at": None,
        }
    session = proof.session
    assert isinstance(session, Session)
    return {
        "kind": "session",
        "role": proof.role.word,
        "name": None,
        "ends_at": _time(session.end),
        "unused_ends_at": _time(session.expiry),
    }


def _time(seconds: float) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _PROBLEMS[status] for status in statuses}
