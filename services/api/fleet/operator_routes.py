"""The routes of operators: change, stop and resume campaigns, and request visits."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any, Final

import anyio
from anyio import CapacityLimiter
from fastapi import APIRouter, Body, Depends, Request, Response, Security
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from collector.errors import BadPlan
from services.api.auth import Access
from services.api.described_answer import described_by
from services.api.encoded_response import as_json, in_thread, zipped
from services.api.fleet.campaigns import CampaignName
from services.api.fleet.change_models import CampaignChange, CampaignStop, VisitRequest
from services.api.problems import Problem, described
from services.api.query_string import only_what_is_taken
from services.api.request_auth import author_of, bearer_scheme, demand, session_scheme
from services.api.tokens import Role
from services.fleet.answers import ChangedCampaign, RequestedVisit
from services.fleet.campaign_changes import CampaignChanges
from services.fleet.errors import BadCampaign, CollectorAway, DrawsNothing, VisitRefused
from services.fleet.fleet_service import FleetService
from storage.query.answers.answer import Answer

_BODY_S: Final = 10.0
"""For a whole body, which has at most 64 KiB."""
_PROBLEMS = described(
    {
        400: "The body ended early.",
        401: "Not signed in.",
        403: "The caller's role is not operator.",
        404: "No such campaign or machine. For a machine the hint has similar names.",
        408: "The body arrived too slowly.",
        409: "The campaign holds visits by hand, or the machine is disabled, or is visited already.",
        413: "The body is too large.",
        422: "A parameter or a member of the body is unknown or out of its range, or no gateway can sample the events.",
        503: "The database does not respond, or no collector runs. Retry-After has the seconds to wait.",
    }
)


def operator_router(service: FleetService, access: Access, limiter: CapacityLimiter) -> APIRouter:
    """The routes over this service, for callers with the role operator."""

    class OperatorRoute(APIRoute):
        """Checks the caller before the body is read, and limits the time of its arrival."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            """The handler of requests."""
            handle = super().get_route_handler()

            async def guarded(request: Request) -> Response:
                demand(request, access, Role.OPERATOR)
                await _receive_body(request)
                return await handle(request)

            return guarded

    schemes = [Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]
    router = APIRouter(prefix="/api/v1", tags=["fleet"], dependencies=schemes, route_class=OperatorRoute)

    def answer(
        request: Request, make: Callable[[], Answer], status: HTTPStatus = HTTPStatus.OK
    ) -> Awaitable[Response]:
        def respond() -> Response:
            with _as_problems():
                made = zipped(request, *as_json(make()))
            made.status_code = status
            return made

        return in_thread(limiter, respond)

    @router.patch(
        "/campaigns/{name}",
        summary="Change or create a campaign",
        description="Omitted members keep their values. A name that no campaign has creates one, which runs at once, "
        "with the values of a new `fleet` for omitted members.",
        response_model=described_by(ChangedCampaign),
        responses=_only(400, 401, 403, 408, 409, 413, 422, 503),
    )
    async def change_campaign(request: Request, name: CampaignName, change: CampaignChange) -> Response:
        by = author_of(request, access)
        return await answer(request, lambda: service.change(name, _changes(change), by=by))

    @router.post(
        "/campaigns/{name}/stop",
        summary="Stop a campaign",
        description="Pauses it, and cancels its visits that have not begun.",
        response_model=described_by(ChangedCampaign),
        responses=_only(400, 401, 403, 404, 408, 413, 422, 503),
    )
    async def stop_campaign(
        request: Request, name: CampaignName, stop: Annotated[CampaignStop | None, Body()] = None
    ) -> Response:
        why, by = (stop or CampaignStop()).why, author_of(request, access)
        return await answer(request, lambda: service.stop(name, why, by=by))

    @router.post(
        "/campaigns/{name}/resume",
        summary="Resume a campaign",
        description="Also one that stopped itself. Earlier failures no longer count.",
        response_model=described_by(ChangedCampaign),
        responses=_only(400, 401, 403, 404, 408, 409, 413, 422, 503),
    )
    async def resume_campaign(request: Request, name: CampaignName) -> Response:
        by = author_of(request, access)
        return await answer(request, lambda: service.resume(name, by=by))

    @router.post(
        "/visits",
        status_code=HTTPStatus.ACCEPTED,
        summary="Profile one machine now",
        description="A collector makes the visit next, and its capture is ingested like others. It belongs to the "
        "campaign `by-hand` and to no round, so it changes no result of the fleet. `progress` of the answer is the "
        "address of its state.",
        response_model=described_by(RequestedVisit),
        responses=_only(400, 401, 403, 404, 408, 409, 413, 422, 503),
    )
    async def request_visit(request: Request, visit: VisitRequest) -> Response:
        by = author_of(request, access)

        def make() -> RequestedVisit:
            return service.request_visit(
                visit.machine,
                event=visit.event,
                duration_s=visit.duration_s,
                rate_hz=visit.rate_hz,
                period=visit.period,
                by=by,
            )

        return await answer(request, make, HTTPStatus.ACCEPTED)

    return router


async def _receive_body(request: Request) -> None:
    """Read the body, which the request keeps. Raises the Problem 408 or 400."""
    try:
        with anyio.fail_after(_BODY_S):
            await request.body()
    except TimeoutError as error:
        raise Problem(
            HTTPStatus.REQUEST_TIMEOUT,
            f"The body did not arrive within {_BODY_S:.0f} seconds.",
            kind="slow-body",
        ) from error
    except ClientDisconnect as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "The body ended early.", kind="bad-body") from error


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turns refusals of the service into Problems."""
    try:
        yield
    except (BadCampaign, BadPlan) as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), kind="bad-campaign") from error
    except DrawsNothing as error:
        hint = "Choose another campaign; GET /api/v1/campaigns lists them."
        raise Problem(HTTPStatus.CONFLICT, str(error), kind="draws-nothing", hint=hint) from error
    except VisitRefused as error:
        raise Problem(HTTPStatus.CONFLICT, str(error), kind="visit-refused", hint=error.hint) from error
    except CollectorAway as error:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            str(error),
            kind="no-collector",
            hint="Start one: fleetprof collector",
            headers={"Retry-After": "10"},
        ) from error


def _changes(change: CampaignChange) -> CampaignChanges:
    return CampaignChanges(
        period_s=change.period_s,
        visits_per_round=change.visits_per_round,
        events=None if change.events is None else tuple(event.as_plan() for event in change.events),
        duration_s=change.duration_s,
        rate_hz=change.rate_hz,
        counted_events=None if change.counted_events is None else tuple(change.counted_events),
        counted_cgroups=change.counted_cgroups,
        select_machines=change.select_machines,
        failure_threshold=change.failure_threshold,
        failure_window=change.failure_window,
    )


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _PROBLEMS[status] for status in statuses}
