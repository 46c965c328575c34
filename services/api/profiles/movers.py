"""Significant changes between two selections and their causes: /movers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.confidence import LEVEL
from analysis.movers.significant_movers import LEAST
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.diff_rows import DiffRow, diff_row_document
from services.api.profiles.estimates import IntervalAnswer, measured_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.selection import Selection
from storage.query.selections.times import LONGEST, parse_length, parse_time
from storage.query.shapes.diff import MOST_ROWS
from storage.query.shapes.movers import (
    DIMENSIONS,
    MOST_EXPLAINED,
    Cause,
    Explained,
    Mover,
    MoversQuestion,
    Unavailable,
)
from storage.query.shapes.movers import MoversAnswer as FoundMovers


class ExplainedAnswer(Answer):
    """The part of a change that one label explains."""

    label: str
    kind: Literal["mix", "within"] = Field(
        description="mix: the values' parts of the whole changed, and their shares differ, as in a roll-out. within: "
        "the share changed in one value beyond its change in the others."
    )
    value: str = Field(
        description="The value with the largest effect: it came or went (mix), or changed (within). Empty: profiles "
        "without the label."
    )
    explained: IntervalAnswer = Field(
        description="Explained part of the change. 1: all of it. Below 0 or above 1 if other changes counteract."
    )
    p: float = Field(description="Probability that chance among visits explains as much.", ge=0, le=1)
    significant: bool


class CauseAnswer(Answer):
    """The causes of a row's changed share."""

    best: ExplainedAnswer | None = Field(
        description="The best significant explanation, if it explains at least half of the change. Null: none of the "
        "labels explains it."
    )
    inseparable: list[ExplainedAnswer] = Field(
        description="Other labels that explain as much by a value that always occurs together with the best one's, such "
        "as a release built by a new compiler."
    )
    explanations: list[ExplainedAnswer] = Field(
        description="All explanations, best first, two for each label."
    )
    visits: int = Field(description="Visits of the selection that were used.")
    base_visits: int


class UnavailableAnswer(Answer):
    """The reason why a value is missing."""

    reason: str = Field(
        description="One word: too_little, constant, not_a_number, no_design, or not_asked for rows beyond the largest "
        "changes."
    )
    detail: str


class MoverAnswer(DiffRow):
    """A row that changed by more than chance and by enough to act on."""

    cause: CauseAnswer | None = Field(description="Null if there is no estimate.")
    because: UnavailableAnswer | None = Field(
        description="The reason why there is no cause. Null if there is one."
    )


class MoversAnswer(Answer):
    """The movers of two selections, and their explanations."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    by: list[str]
    movers: list[MoverAnswer] = Field(description="Largest change of share first.")
    examined: int = Field(
        description="Number of compared rows. At most 5 % of the significant rows are chance."
    )
    rows_total: int = Field(description="Rows that either side has.")
    least: float = Field(description="Smallest change of share that makes a row a mover.", ge=0, le=1)
    labels: list[str] = Field(
        description="Labels that were searched for causes: the requested labels that have several values."
    )
    power: float | None = Field(
        description="Probability to detect that a row of 1 % grew by a factor of 1.5, with these visits and this number "
        "of rows.",
        ge=0,
        le=1,
    )
    compared_part: float = Field(
        description="Share of the visits used for p-values, intervals of differences and power: a random part, if "
        "shuffling all of them takes too long. Shares use all visits.",
        ge=0,
        le=1,
    )
    interval_level: float | None = Field(
        description="Level of the intervals of all differences. It is above 0.95 if many rows are compared and few "
        "differ. Null without a random design.",
        ge=LEVEL,
        le=1,
    )
    part: float = Field(
        description="Share of the visits that were searched for causes: a random part, if there are many.",
        ge=0,
        le=1,
    )
    because: UnavailableAnswer | None = Field(
        description="The reason why there are no movers. Null if there are any."
    )


def movers_document(question: MoversQuestion, found: FoundMovers) -> Json:
    """The answer of /movers."""
    scale, power = found.kind.seconds_per_unit, found.comparison.power
    return {
        "selection": selection_document(question.selection, found.kind),
        "base": selection_document(question.base, found.kind),
        "totals": totals_document(found.totals, scale),
        "base_totals": totals_document(found.base_totals, scale),
        "by": list(found.by),
        "movers": [_mover(mover, scale) for mover in found.movers],
        "examined": len(found.comparison.rows),
        "rows_total": found.comparison.rows_total,
        "least": question.least,
        "labels": list(found.labels),
        "power": power and power.power,
        "compared_part": found.comparison.part,
        "interval_level": found.comparison.level,
        "part": found.part,
        "because": found.unavailable and _reason(found.unavailable),
    }


_FORMS = forms_of(MoversAnswer, "movers")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/movers",
        summary="What moved, and why",
        description="Rows whose share changed significantly and by enough to act on, each with the label that explains "
        "the change: version, compiler, kernel and others. Without `from` and `to`, the last whole UTC day "
        "is compared with the day before.",
        response_model=MoversAnswer,
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
        )
        return await handler.answer(
            request, _FORMS, lambda: movers_document(question, handler.queries.ask(question))
        )


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


def _mover(mover: Mover, scale: float | None) -> Json:
    cause = mover.cause
    return {
        **diff_row_document(mover.row, scale),
        "cause": _cause(cause) if isinstance(cause, Cause) else None,
        "because": _reason(cause) if isinstance(cause, Unavailable) else None,
    }


def _cause(cause: Cause) -> Json:
    return {
        "best": cause.best and _explained(cause.best),
        "inseparable": [_explained(one) for one in cause.inseparable],
        "explanations": [_explained(one) for one in cause.explanations],
        "visits": cause.visits[0],
        "base_visits": cause.visits[1],
    }


def _explained(one: Explained) -> Json:
    return {
        "label": one.label,
        "kind": one.kind.value,
        "value": one.value,
        "explained": measured_document(one.explained),
        "p": one.p,
        "significant": one.significant,
    }


def _reason(unavailable: Unavailable) -> Json:
    return {"reason": unavailable.reason, "detail": unavailable.detail}
