"""Authentication of a request by its session or its Authorization header."""

from hashlib import sha256
from http import HTTPStatus
from typing import Final

from fastapi import Request
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.api.auth import Access, Role
from services.api.problems import Problem
from services.api.sessions import SESSION_COOKIE, SESSION_HEADER, Session, cookie_header, cookie_name

session_scheme = APIKeyCookie(
    name=SESSION_COOKIE,
    scheme_name="session",
    description=f"Set by /login, over TLS as {cookie_name(secure=True)}. It is valid only with the header "
    f"{SESSION_HEADER}, whose value the login returns to the web UI.",
    auto_error=False,
)
bearer_scheme = HTTPBearer(
    scheme_name="token", description="A token of FLEETPROF_API_TOKENS.", auto_error=False
)
_RENEWED_COOKIE: Final = "fleetprof.renewed"


def session_of(request: Request, access: Access) -> Session | None:
    """The session that the request's cookie and header prove together; None: no session."""
    cookie = request.cookies.get(cookie_name(secure=is_secure(request.scope)), "")
    return access.sessions.find(cookie, request.headers.get(SESSION_HEADER, ""))


def role_of(request: Request, access: Access) -> Role | None:
    """The highest role that the request proves; None: none. A session in use is renewed."""
    return max((role for role, _ in _proofs(request, access)), default=None)


def caller_of(request: Request, access: Access) -> str:
    """A digest of the session or token that proves the highest role, equal for all requests with it; "": no role."""
    _, proof = max(_proofs(request, access), default=(None, ""))
    return proof and digest_of(proof)


def digest_of(proof: str) -> str:
    """A digest that identifies a caller without revealing the session or token."""
    return sha256(proof.encode("utf-8", "surrogatepass")).hexdigest()


def _proofs(request: Request, access: Access) -> list[tuple[Role, str]]:
    """The roles that the request proves, each with its session or token."""
    found = []
    if session := session_of(request, access):
        found.append((Role[session.role.upper()], session.nonce))
        request.scope.setdefault("state", {})[_RENEWED_COOKIE] = access.sessions.renewed(session)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and (role := access.role_of_token(token.strip())) is not None:
        found.append((role, token.strip()))
    return found


def demand(request: Request, access: Access, least: Role) -> None:
    """Raises the Problem 401 without a valid session or token, 403 if the role is too low."""
    role = role_of(request, access)
    if role is None:
        raise Problem(
            HTTPStatus.UNAUTHORIZED,
            "You are not signed in.",
            kind="signed-out",
            hint="Open the link that `fleetprof url` prints, or send the header Authorization: Bearer with an "
            "API token.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if role < least:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            f"This request needs the role {least.name.lower()}. Your role: {role.name.lower()}.",
            kind="role",
        )


def is_secure(scope: Scope) -> bool:
    """Whether the request came over TLS."""
    return str(scope.get("scheme")) == "https"


class SessionRenewal:
    """ASGI middleware that adds a session's next cookie to answers when the renewal is due."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and (cookie := scope["state"].get(_RENEWED_COOKIE)):
                headers = MutableHeaders(scope=message)
                headers.append("Set-Cookie", cookie_header(cookie, secure=is_secure(scope)))
                headers["Cache-Control"] = "no-store"  # a cookie must not be stored with an answer
            await send(message)

        await self._app(scope, receive, send_with_cookie if scope["type"] == "http" else send)
