"""Authentication of a request by its session or its Authorization header."""

from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Final

from fastapi import Request
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.api.auth import Access
from services.api.problems import Problem
from services.api.sessions import SESSION_COOKIE, SESSION_HEADER, Session, cookie_header, cookie_name
from services.api.tokens import BearerToken, Role

session_scheme = APIKeyCookie(
    name=SESSION_COOKIE,
    scheme_name="session",
    description=f"Set by /login, over TLS as {cookie_name(secure=True)}. It is valid only with the header "
    f"{SESSION_HEADER}, whose value the login returns to the web UI.",
    auto_error=False,
)
bearer_scheme = HTTPBearer(
    scheme_name="token",
    description="A token of FLEETPROF_API_TOKENS, or one that an administrator created.",
    auto_error=False,
)
_RENEWED_COOKIE: Final = "fleetprof.renewed"


def session_of(request: Request, access: Access) -> Session | None:
    """The session that the request's cookie and header prove together; None: no session."""
    cookie = request.cookies.get(cookie_name(secure=is_secure(request.scope)), "")
    return access.find_session(cookie, request.headers.get(SESSION_HEADER, ""))


@dataclass(frozen=True, slots=True)
class Proof:
    """A valid session or token of a request."""

    role: Role
    session: Session | None = None
    token: BearerToken | None = None
    """One of the two is set."""
    key: str = ""
    """The session's nonce, or the token."""

    @property
    def is_recorded(self) -> bool:
        """Whether records of the database decide that it is valid."""
        return self.token is None or self.token.token_id is not None


def role_of(request: Request, access: Access) -> Role | None:
    """The highest role that the request proves; None: none. A session in use is renewed."""
    best = best_proof(request, access)
    return None if best is None else best.role


def caller_of(request: Request, access: Access) -> str:
    """A digest of the session or token that proves the highest role, equal for all requests with it; "": no role."""
    best = best_proof(request, access)
    return digest_of(best.key) if best else ""


def author_of(request: Request, access: Access) -> str:
    """The caller's name for a stored row: the token's name or the role, and the address."""
    best = best_proof(request, access)
    name = "" if best is None else (best.token and best.token.name) or best.role.word
    client = request.client.host if request.client else ""
    return " at ".join(part for part in (name, client) if part)


def digest_of(proof: str) -> str:
    """A digest that identifies a caller without revealing the session or token."""
    return sha256(proof.encode("utf-8", "surrogatepass")).hexdigest()


def best_proof(request: Request, access: Access) -> Proof | None:
    """The proof of the highest role; None: the request proves none."""
    found = []
    if session := session_of(request, access):
        found.append(Proof(Role[session.role.upper()], session=session, key=session.nonce))
        request.scope.setdefault("state", {})[_RENEWED_COOKIE] = access.sessions.renewed(session)
    text = _bearer(request)
    if text is not None and (token := access.find_token(text)) is not None:
        found.append(Proof(token.role, token=token, key=text))
    return max(found, key=lambda proof: (proof.role, not proof.is_recorded), default=None)


def demand(request: Request, access: Access, least: Role, *, by_old_records: bool = False) -> Proof:
    """The proof of the caller's role.

    Raises the Problem 401 without a valid session or token, 403 if the role is too low, and 503 if the records of
    ended sessions and tokens are too old to decide; `by_old_records`: decide by old records.
    """
    proof = best_proof(request, access)
    is_undecided = _bearer(request) is not None if proof is None else proof.is_recorded
    if is_undecided and not by_old_records and not access.records.is_current:
        raise undecided()
    if proof is None:
        raise Problem(
            HTTPStatus.UNAUTHORIZED,
            "You are not signed in.",
            kind="signed-out",
            hint=f"Open the link that `{access.link_command or 'fleetprof url --api URL'}` prints, or send the header "
            "Authorization: Bearer with an API token.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if proof.role < least:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            f"This request needs the role {least.word}. Your role: {proof.role.word}.",
            kind="role",
        )
    return proof


def undecided() -> Problem:
    """The Problem of a caller whose session or token cannot be checked now."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The database does not respond, so sessions and tokens cannot be checked.",
        kind="database",
        hint="Retry later. The server's log has the cause.",
        headers={"Retry-After": "2"},
    )


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


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
