"""Significant changes between two selections and their causes: /movers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from analysis.movers.significant_movers import LEAST
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.movers import MoversAnswer
from storage.query.selections.selection import Selection
from storage.query.selections.times import LONGEST, parse_length, parse_time
from storage.query.shapes.diff import MOST_ROWS
from storage.query.shapes.movers import DIMENSIONS, MOST_EXPLAINED, MoversQuestion

_FORMS = forms_of(MoversAnswer, "movers")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/movers",
        summary="What moved, and why",
        description="Rows whose share changed significantly and by enough to act on, each with the label that explains "
        "the change: version, compiler, kernel and others. Without `from` and `to`, the last whole UTC day "
        "is compared with the day before. Within the selection, the newest version of each application is compared with "
        "the one before.",
        response_model=described_by(MoversAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def movers(
        *,
        request: Request,
        selection: Selected,
        before: Annotated[
            str,
            Query(
                description="Offset of the base before the selection, unless base_from and base_to are given: 1d, or 1w "
                "for the same time last week.",
                max_length=LONGEST,
                examples=["1d", "1w"],
            ),
        ] = "1d",
        base_from: Annotated[
            str, Query(description="Start of the base, inclusive; it replaces `before`.", max_length=LONGEST)
        ] = "",
        base_to: Annotated[str, Query(description="End of the base, exclusive.", max_length=LONGEST)] = "",
        by: Keys = "function",
        examine: Annotated[
            int,
            Query(
                ge=1,
                le=MOST_ROWS,
                description="Largest number of rows to compare, the heaviest of either side.",
            ),
        ] = 200,
        least: Annotated[float, Query(ge=0, le=1, description="Smallest change of share to report.")] = LEAST,
        explain: Annotated[
            int,
            Query(
                ge=0,
                le=MOST_EXPLAINED,
                description="Number of movers to search for a cause, the largest first.",
            ),
        ] = 5,
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "self",
        labels: Annotated[
            str, Query(description="Labels to search for causes, separated by commas.", max_length=500)
        ] = ",".join(DIMENSIONS),
        releases: Annotated[
            bool,
            Query(
                description="Within the selection, also compare the newest version of each application with the one "
                "before. Totals are compared."
            ),
        ] = True,
    ) -> Response:
        named = {"from", "to"} & request.query_params.keys()
        now = selection if named else last_day(selection)
        question = MoversQuestion(
            now,
            base_of(now, before, base_from, base_to),
            keys_of(by),
            examine,
            least,
            explain,
            share == "self",
            keys_of(labels) if labels.strip() else (),
            releases=releases,
        )
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))


def last_day(selection: Selection, now: datetime | None = None) -> Selection:
    """The selection on the last whole UTC day."""
    today = (now or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    return replace(selection, start=today - timedelta(days=1), end=today)


def base_of(selection: Selection, before: str, start: str = "", end: str = "") -> Selection:
    """The base of a selection: `before` earlier, or from `start` to `end`. Raises `BadSelection`."""
    if not (start or end):
        earlier = timedelta(seconds=parse_length(before, parameter="before"))
        return replace(selection, start=selection.start - earlier, end=selection.end - earlier)
    now = datetime.now(UTC)
    return replace(
        selection,
        start=parse_time(start, now=now, parameter="base_from"),
        end=parse_time(end, now=now, parameter="base_to"),
    )
