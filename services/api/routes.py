"""The routes of /api/v1 that answer from profiles."""

from collections.abc import Callable

from anyio import CapacityLimiter
from fastapi import APIRouter, Depends, Request, Security

from services.api.analysis import (
    affinity,
    apu,
    capacity,
    composition,
    cross_check,
    events,
    feature,
    frequency,
    frequency_fit,
    frequency_times,
    interference,
    load_test,
    machine_types,
    placement_advice,
    ratios,
    side_by_side,
    stability,
)
from services.api.auth import Access
from services.api.fleet import campaigns, machines, visits
from services.api.profiles import (
    call_graph,
    callers,
    changes,
    cost,
    diff,
    disassembly,
    flame,
    flame_diff,
    functions,
    labels,
    lines,
    movers,
    regressions,
    releases,
    reliability,
    search,
    series,
    shared_code,
    stacks,
    status,
    table,
)
from services.api.profiles.query_handler import QueryHandler
from services.api.query_string import only_what_is_taken
from services.api.request_auth import bearer_scheme, demand, session_scheme
from services.api.response_cache import ResponseCache
from services.api.tokens import Role
from services.disassembly.service import DisassemblyService
from storage.query.query_engine import QueryEngine

_SHAPES = (
    table,
    flame,
    call_graph,
    callers,
    lines,
    series,
    diff,
    flame_diff,
    movers,
    changes,
    releases,
    regressions,
    reliability,
    labels,
    search,
    stacks,
    functions,
)
_FLEET = (machines, visits, campaigns)
_MODELS = (
    *(ratios, cross_check, affinity, apu, side_by_side),
    *(frequency, frequency_fit, frequency_times),
    *(composition, feature, load_test, stability),
    *(capacity, machine_types, interference, placement_advice, events),
)


def api_router(
    queries: QueryEngine,
    access: Access,
    limiter: CapacityLimiter,
    *,
    on_answered: Callable[[], None],
    cache: ResponseCache,
    price_per_core_hour: float | None = None,
    instructions: DisassemblyService | None = None,
) -> APIRouter:
    """The routes over these queries, for callers with the role viewer.

    Queries run in threads, at most as many at once as `limiter` allows; further ones wait. `on_answered` is called
    after each, whether it succeeded or not. `instructions` None: the route of disassemblies is missing.
    """

    async def viewer(request: Request) -> None:
        demand(request, access, Role.VIEWER)

    # The schemes are for OpenAPI; `viewer` decides and accepts either of the two.
    guards = [Depends(viewer), Security(session_scheme), Security(bearer_scheme), Depends(only_what_is_taken)]
    router = APIRouter(prefix="/api/v1", dependencies=guards, tags=["profiles"])
    handler = QueryHandler(queries, limiter, on_answered, cache)
    for shape in (*_SHAPES, *_MODELS, *_FLEET):
        shape.add(router, handler)
    if instructions is not None:
        disassembly.add(router, handler, instructions, access)
    cost.add(router, handler, price_per_core_hour)
    shared_code.add(router, handler, price_per_core_hour)
    status.add(router, handler, price_per_core_hour)
    return router
