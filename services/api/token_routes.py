"""The routes of API tokens, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from fastapi import Path as PathParameter
from pydantic import Field

from services.access.token_service import LONGEST_DAYS, TokenService
from services.api.api_model import ApiModel
from services.api.auth import Access
from services.api.request_auth import author_of
from services.api.shared_routes import RoleWord, SharedRoutes, responses_of
from services.api.tokens import Role

TokenName = Annotated[str, PathParameter(max_length=100, description="Name of the token.")]


class Token(ApiModel):
    """An API token without its text."""

    name: str
    role: RoleWord
    created_at: str = Field(description="RFC 3339, UTC.")
    created_by: str = Field(description="Who created it, if known.")
    expires_at: str | None = Field(description="RFC 3339, UTC. Null: it does not expire.")
    last_used: str | None = Field(description="UTC day of the last request with it; null: never used.")


class Tokens(ApiModel):
    """All created tokens, by name; those of FLEETPROF_API_TOKENS are not among them."""

    tokens: list[Token]


class NewToken(ApiModel):
    """The token to create."""

    name: str = Field(description="1 to 100 letters, digits, points, dashes, underscores and @.")
    role: RoleWord
    days: int | None = Field(
        default=None, description=f"Days until it expires, 1 to {LONGEST_DAYS}; null: it does not expire."
    )


class CreatedToken(Token):
    """A new token. This is the only answer with its text."""

    token: str = Field(description="The text for the header Authorization: Bearer.")


class RevokedToken(ApiModel):
    """A removed token."""

    name: str


def tokens_router(service: TokenService, access: Access) -> APIRouter:
    """The routes of API tokens, for administrators."""
    router = APIRouter(prefix="/api/v1", tags=["sign-in"])
    routes = SharedRoutes(access)
    admin = routes.needing(Role.ADMIN)

    @router.get(
        "/tokens",
        summary="List API tokens",
        description="Tokens that administrators created, by name, expired ones too.",
        response_model=Tokens,
        responses=responses_of(401, 403, 422, 503),
        **admin,
    )
    async def tokens(request: Request) -> Response:
        return await routes.answer(request, service.listing)

    @router.post(
        "/tokens",
        summary="Create an API token",
        description="The answer is the only one with the token's text: the database has its digest only.",
        response_model=CreatedToken,
        responses=responses_of(400, 401, 403, 409, 422, 503),
        **admin,
    )
    async def create_token(request: Request, body: Annotated[NewToken, Body()]) -> Response:
        role, author = Role[body.role.upper()], author_of(request, access)
        return await routes.answer(
            request, lambda: service.create(body.name, role, days=body.days, created_by=author)
        )

    @router.delete(
        "/tokens/{name}",
        summary="Revoke an API token",
        description="This process refuses the token and its sessions at once, other API processes within seconds.",
        response_model=RevokedToken,
        responses=responses_of(401, 403, 404, 422, 503),
        **admin,
    )
    async def revoke_token(request: Request, name: TokenName) -> Response:
        return await routes.answer(request, lambda: service.revoke(name))

    return router
