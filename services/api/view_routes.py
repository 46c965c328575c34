"""The routes of saved views and short links."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from fastapi import Path as PathParameter
from pydantic import Field
from starlette.responses import RedirectResponse

from services.access.errors import UnusableEntry
from services.access.view_service import LONGEST_NAME, LONGEST_PATH, ViewService
from services.api.api_model import ApiModel
from services.api.auth import Access
from services.api.request_auth import demand
from services.api.shared_routes import RoleWord, SharedRoutes, responses_of
from services.api.sign_in_page import plain_page
from services.api.tokens import Role
from storage.errors import UnknownView

ViewId = Annotated[str, PathParameter(max_length=40, description="Id of the view or short link.")]


class View(ApiModel):
    """A saved address of the web UI."""

    id: str
    name: str | None = Field(description="Null: a short link only.")
    path: str = Field(description="Path and query of a page.")
    short: str = Field(description="Path of the short link, which leads to `path`.")
    role: RoleWord = Field(description="Role of the caller that saved it.")
    created_at: str = Field(description="RFC 3339, UTC.")


class Views(ApiModel):
    """All views with a name, by name."""

    views: list[View]


class NewView(ApiModel):
    """The address to save."""

    name: str | None = Field(
        default=None, description=f"1 to {LONGEST_NAME} characters, unique; null: make a short link only."
    )
    path: str = Field(
        description=f"Path and query of a page of the web UI, at most {LONGEST_PATH} characters of ASCII."
    )


class RemovedView(ApiModel):
    """A deleted view or short link."""

    id: str


def views_router(service: ViewService, access: Access) -> APIRouter:
    """The routes of saved views and short links."""
    router = APIRouter(tags=["views"])
    routes = SharedRoutes(access)
    viewer, operator = routes.needing(Role.VIEWER), routes.needing(Role.OPERATOR)

    @router.get(
        "/api/v1/views",
        summary="List saved views",
        description="Addresses of the web UI with a name, which all readers share.",
        response_model=Views,
        responses=responses_of(401, 422, 503),
        **viewer,
    )
    async def views(request: Request) -> Response:
        return await routes.answer(request, service.listing)

    @router.post(
        "/api/v1/views",
        summary="Save a view, or make a short link",
        description="Stores an address of the web UI. Without a name it is a short link only; the same address then gets "
        "the same link.",
        response_model=View,
        responses=responses_of(400, 401, 403, 409, 422, 503),
        **operator,
    )
    async def save_view(request: Request, body: Annotated[NewView, Body()]) -> Response:
        role = demand(request, access, Role.OPERATOR).role.word
        return await routes.answer(request, lambda: service.save(body.name, body.path, role=role))

    @router.delete(
        "/api/v1/views/{view_id}",
        summary="Delete a saved view",
        description="Its short link then leads nowhere.",
        response_model=RemovedView,
        responses=responses_of(401, 403, 404, 422, 503),
        **operator,
    )
    async def remove_view(request: Request, view_id: ViewId) -> Response:
        return await routes.answer(request, lambda: service.remove(view_id))

    @router.get("/v/{view_id}", include_in_schema=False)
    def short_link(view_id: str) -> Response:
        # Needs no sign-in: a browser sends no proof with an address that is opened. The page then asks for one.
        try:
            path = service.path_of(view_id)
        except (UnknownView, UnusableEntry) as error:
            return plain_page(HTTPStatus.NOT_FOUND, "No such link", str(error))
        return RedirectResponse(path, HTTPStatus.FOUND, headers={"Cache-Control": "no-store"})

    return router
