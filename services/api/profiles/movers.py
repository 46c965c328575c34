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
    """What one label says of a change."""

    label: str
    kind: Literal["mix", "within"] = Field(
        description="mix: its values' parts of the whole changed, and their shares differ, as in a roll-out; within: the share "
        "changed in one value beyond what it did in the others."
    )
    value: str = Field(
        description="That did most: that came or went (mix), or that changed (within). Empty: those without the label."
    )
    explained: IntervalAnswer = Field(
        description="Part of the change, 1: all of it; below 0 or above 1 where other changes counteract."
    )
    p: float = Field(description="How often chance among visits makes as much.", ge=0, le=1)
    significant: bool


class CauseAnswer(Answer):
    """Why a row's share changed."""

    best: ExplainedAnswer | None = Field(
        description="The best significant explanation, if it is half of the change or more; null: none of the labels explains it."
    )
    inseparable: list[ExplainedAnswer] = Field(
        description="Others that explain as much by a value that goes together with the best one's: a release built by a new compiler."
    )
    explanations: list[ExplainedAnswer] = Field(description="All, best first, two for each label.")
    visits: int = Field(description="Visits of the selection that were looked at.")
    base_visits: int


class UnavailableAnswer(Answer):
    """Why something is not said."""

    reason: str = Field(
        description="One word: too_little, constant, not_a_number, no_design; not_asked beyond the largest changes."
    )
    detail: str


class MoverAnswer(DiffRow):
    """A row that changed by more than chance and by enough to act on."""

    cause: CauseAnswer | None = Field(description="Null where there is no estimate.")
    because: UnavailableAnswer | None = Field(description="Why there is no cause; null if there is one.")


class MoversAnswer(Answer):
    """The movers of two selections, and what explains them."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    by: list[str]
    movers: list[MoverAnswer] = Field(description="Largest change of share first.")
    examined: int = Field(
        description="Rows that were compared; of those called significant at most 5 % are chance."
    )
    rows_total: int = Field(description="Rows that either has.")
    least: float = Field(description="Change of share that a mover has at least.", ge=0, le=1)
    labels: list[str] = Field(
        description="That causes were looked for in: those asked for that have several values."
    )
    power: float | None = Field(
        description="The chance to find that a row of 1 % became 1.5 times as large, with these visits and as many rows.",
        ge=0,
        le=1,
    )
    compared_part: float = Field(
        description="Share of the visits that p-values, intervals of differences and power are of: a random part where shuffling "
        "all of them would take too long. Shares are of all.",
        ge=0,
        le=1,
    )
    interval_level: float | None = Field(
        description="Of the intervals of all differences; higher than 0.95 where many rows are compared and few differ. Null without "
        "a random design.",
        ge=LEVEL,
        le=1,
    )
    part: float = Field(
        description="Share of the visits that causes were looked for in: a random part of many.", ge=0, le=1
    )
    because: UnavailableAnswer | None = Field(description="Why no mover is reported; null where movers are.")


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
        description="Rows whose share changed by more than chance and by enough to act on, each with the label that explains it: "
        "version, compiler, kernel and the like. Without `from` and `to` the last whole UTC day is compared, with the day before.",
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
                description="How much earlier the base is, unless base_from and base_to are given: 1d, or 1w for the same time "
                "last week.",
                max_length=LONGEST,
                examples=["1d", "1w"],
            ),
        ] = "1d",
        base_from: Annotated[
            str, Query(description="Start of the base, inclusive, instead.", max_length=LONGEST)
        ] = "",
        base_to: Annotated[str, Query(description="End of the base, exclusive.", max_length=LONGEST)] = "",
        by: Keys = "function",
        examine: Annotated[
            int, Query(ge=1, le=MOST_ROWS, description="Rows to compare, the heaviest of either.")
        ] = 200,
        least: Annotated[
            float, Query(ge=0, le=1, description="Smallest change of share that is reported.")
        ] = LEAST,
        explain: Annotated[
            int, Query(ge=0, le=MOST_EXPLAINED, description="Movers whose cause is looked for, the largest.")
        ] = 5,
        share: Annotated[Literal["self", "total"], Query(description="Compare self or totals.")] = "self",
        labels: Annotated[
            str, Query(description="Labels to look for causes in, commas between.", max_length=500)
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
