"""The routes of prices by platform."""

from typing import Annotated

from fastapi import APIRouter, Body, Request, Response
from pydantic import Field

from services.access.price_service import PriceService
from services.api.api_model import ApiModel
from services.api.auth import Access
from services.api.request_auth import author_of
from services.api.shared_routes import SharedRoutes, responses_of
from services.api.tokens import Role


class PlatformPrice(ApiModel):
    """The price of one platform."""

    platform: str
    price_per_core_hour: float
    changed_at: str = Field(description="RFC 3339, UTC.")
    changed_by: str = Field(description="Who changed it, if known.")


class Prices(ApiModel):
    """Prices per core-hour."""

    default: float | None = Field(
        description="Price of platforms that are not listed: FLEETPROF_PRICE_PER_CORE_HOUR; null: unknown."
    )
    platforms: list[PlatformPrice]


class NewPrices(ApiModel):
    """All prices that differ from the default."""

    platforms: dict[str, float] = Field(
        description="Price per core-hour by platform. Platforms that are missing get the default."
    )


def prices_router(service: PriceService, access: Access) -> APIRouter:
    """The routes of prices by platform."""
    router = APIRouter(prefix="/api/v1", tags=["fleet"])
    routes = SharedRoutes(access)

    @router.get(
        "/prices",
        summary="Prices per core-hour",
        description="The price of the setting, and those of platforms that differ from it.",
        response_model=Prices,
        responses=responses_of(401, 422, 503),
        **routes.needing(Role.VIEWER),
    )
    async def prices(request: Request) -> Response:
        return await routes.answer(request, service.listing)

    @router.put(
        "/prices",
        summary="Set prices of platforms",
        description="Replaces all prices that differ from the default.",
        response_model=Prices,
        responses=responses_of(400, 401, 403, 422, 503),
        **routes.needing(Role.ADMIN),
    )
    async def replace_prices(request: Request, body: Annotated[NewPrices, Body()]) -> Response:
        author = author_of(request, access)
        return await routes.answer(request, lambda: service.replace(body.platforms, changed_by=author))

    return router
