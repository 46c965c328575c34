"""Who sends a request, by its cookie or its Authorization header."""

from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address

from fastapi import Request
from fastapi.security import APIKeyCookie, HTTPBearer

from services.api.auth import SESSION_COOKIE, Access, Role
from services.api.problems import Problem

session_scheme = APIKeyCookie(
    name=SESSION_COOKIE, scheme_name="session", description="Set by /login.", auto_error=False
)
bearer_scheme = HTTPBearer(
    scheme_name="token", description="A token of FLEETPROF_API_TOKENS.", auto_error=False
)


def role_of(request: Request, access: Access) -> Role | None:
    """The highest role the request proves; None: none."""
    roles = []
    if cookie := request.cookies.get(SESSION_COOKIE):
        roles.append(access.role_of_session(cookie))
    if token := _token(request):
        roles.append(access.role_of_token(token))
    return max((role for role in roles if role is not None), default=None)


def caller_of(request: Request, access: Access) -> str:
    """A name for who sends a request that was let in: for its session, else for its token; the same each time."""
    cookie = request.cookies.get(SESSION_COOKIE, "")
    proof = cookie if access.role_of_session(cookie) is not None else _token(request)
    return sha256(proof.encode("utf-8", "surrogatepass")).hexdigest()


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def demand(request: Request, access: Access, least: Role) -> None:
    """Raises the Problem 401 without a valid session or token, 403 with too low a role."""
    role = role_of(request, access)
    if role is None:
        raise Problem(
            HTTPStatus.UNAUTHORIZED,
            "You are not signed in.",
            kind="signed-out",
            hint="Open the link that `fleetprof url` prints, or send Authorization: Bearer with an API token.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    if role < least:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            f"This needs the role {least.name.lower()}; yours is {role.name.lower()}.",
            kind="role",
        )


def is_local(request: Request) -> bool:
    """The request comes over loopback or a Unix socket."""
    if request.client is None or not request.client.host:
        return True
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
