"""The routes of /api/v1."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter
from fastapi import APIRouter, Depends, Query, Request, Response, Security

from services.api import answers, encoding, models
from services.api.auth import Access, Role
from services.api.callers import bearer_scheme, demand, session_scheme
from services.api.parameters import Base, Keys, Selected, keys_of
from services.api.replies import Made, as_json, in_thread, zipped
from storage.query.engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import MOST_ROWS as MOST_DIFF_ROWS
from storage.query.shapes.flame import MOST_NODES
from storage.query.shapes.labels import MOST_VALUES
from storage.query.shapes.table import MOST_ROWS, Page, Sort

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": description, "model": models.ProblemDocument}
    for status, description in {
        400: "The selection means nothing; `at` says where.",
        401: "Not signed in.",
        404: "No such campaign.",
        422: "A parameter is out of its range.",
        503: "The database does not answer, or not in time; Retry-After says when to ask again.",
    }.items()
}


def api_router(
    queries: QueryEngine,
    access: Access,
    limiter: CapacityLimiter,
    *,
    answered: Callable[[], None],
    price_per_core_hour: float | None = None,
) -> APIRouter:
    """The routes over these queries, for callers this access lets in.

    Queries run in threads, at most as many at once as `limiter` has; others wait their turn. `answered`
    is called after each, whatever came of it.
    """

    async def viewer(request: Request) -> None:
        demand(request, access, Role.VIEWER)

    # The schemes describe, `viewer` decides: either of the two is enough.
    guards = [Depends(viewer), Security(session_scheme), Security(bearer_scheme)]
    router = APIRouter(prefix="/api/v1", dependencies=guards, tags=["profiles"])

    async def answer(request: Request, make: Callable[[], Made]) -> Response:
        try:
            return await in_thread(limiter, lambda: zipped(request, *make()))
        finally:
            answered()

    @router.get(
        "/table",
        summary="Hot functions, or any other grouping",
        description="The samples of a selection by any of their dimensions, sorted. Rows and `remainder` add up to "
        "`totals.units`, and so does the root of /flame for the same selection.",
        response_model=models.TableAnswer,
        responses=_PROBLEMS,
    )
    async def table(
        *,
        request: Request,
        selection: Selected,
        by: Keys = "function",
        sort: Annotated[
            Sort, Query(description="With a minus: largest first. Ties go by name.")
        ] = Sort.SELF_DESC,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Rows to show.")] = 100,
        offset: Annotated[int, Query(ge=0, le=100_000_000, description="Rows to skip.")] = 0,
        find: Annotated[
            str,
            Query(
                max_length=200,
                description="Only rows with this text in one of their names, whatever its case.",
            ),
        ] = "",
    ) -> Response:
        def make() -> Made:
            found = queries.table(selection, keys_of(by), Page(sort, limit, offset, find))
            return as_json(answers.table(selection, found))

        return await answer(request, make)

    @router.get(
        "/flame",
        summary="The tree of calls",
        description="The samples of a selection as a prefix tree of their stacks, cut to its heaviest nodes. "
        f"With `Accept: {encoding.MEDIA_TYPE}` in a binary form of columns that needs no parsing.",
        response_model=models.FlameAnswer,
        responses={
            200: {"content": {encoding.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}},
            **_PROBLEMS,
        },
    )
    async def flame(
        request: Request,
        selection: Selected,
        nodes: Annotated[int, Query(ge=1, le=MOST_NODES, description="Most nodes to send.")] = 20_000,
    ) -> Response:
        binary = encoding.accepted(request.headers.get("accept", ""))
        response = await answer(request, lambda: _flame(queries, selection, nodes, binary=binary))
        response.headers.append("Vary", "Accept")
        return response

    @router.get(
        "/diff",
        summary="Two selections compared",
        description="Which rows take more, or less, of the selection than of its base, and which of the differences "
        "chance among visits does not explain. Both are of the same event.",
        response_model=models.DiffAnswer,
        responses=_PROBLEMS,
    )
    async def diff(
        *,
        request: Request,
        selection: Selected,
        base: Base,
        by: Keys = "function",
        limit: Annotated[int, Query(ge=1, le=MOST_DIFF_ROWS, description="Rows to compare.")] = 100,
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "total",
    ) -> Response:
        def make() -> Made:
            found = queries.diff(selection, base, keys_of(by), limit=limit, own=share == "self")
            return as_json(answers.diff(selection, base, found))

        return await answer(request, make)

    @router.get(
        "/reliability",
        summary="How far a profile can be trusted",
        description="Entropy, the distance of two random halves of the visits, and how the profile converges with "
        "its samples.",
        response_model=models.ReliabilityAnswer,
        responses=_PROBLEMS,
    )
    async def reliability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        return await answer(
            request,
            lambda: as_json(answers.reliability(selection, queries.reliability(selection, keys_of(by)))),
        )

    @router.get(
        "/labels",
        summary="Labels and their values",
        description="Which labels the profiles of a selection have, and how much of it each value is. "
        "`focus` and `ignore` have no effect here: labels belong to processes, not to functions.",
        response_model=models.LabelsAnswer,
        responses=_PROBLEMS,
    )
    async def labels(
        request: Request,
        selection: Selected,
        limit: Annotated[int, Query(ge=1, le=MOST_VALUES, description="Values to show of each label.")] = 50,
        find: Annotated[
            str, Query(max_length=200, description="Only values with this text in them, whatever its case.")
        ] = "",
    ) -> Response:
        return await answer(
            request,
            lambda: as_json(answers.labels(selection, queries.labels(selection, limit=limit, find=find))),
        )

    @router.get(
        "/status",
        summary="How the fleet is covered",
        description="Machines, campaigns, outcomes of visits, what waits to be landed, and whose symbols are missing.",
        response_model=models.StatusAnswer,
        responses={status: _PROBLEMS[status] for status in (401, 503)},
        tags=["fleet"],
    )
    async def status(request: Request) -> Response:
        return await answer(request, lambda: as_json(answers.status(queries.status(), price_per_core_hour)))

    return router


def _flame(queries: QueryEngine, selection: Selection, nodes: int, *, binary: bool) -> Made:
    found = queries.flame(selection, nodes)
    if not binary:
        return as_json(answers.flame(selection, found))
    summary = answers.flame_summary(selection, found)
    return encoding.encode_flame(summary, found.flame, found.kind.seconds_per_unit), encoding.MEDIA_TYPE
