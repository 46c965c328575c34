"""Two selections compared: /diff."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.confidence import LEVEL
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.formats.forms import Forms
from services.api.formats.stack_profile import Value
from services.api.parameters import Base, Keys, Selected, keys_of
from services.api.profiles.diff_files import FILES, Compared, DiffFile, ValueOfBoth
from services.api.profiles.diff_rows import DiffRow, diff_row_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import MOST_ROWS, DiffQuestion
from storage.query.shapes.diff import DiffAnswer as FoundDiff


class Power(Answer):
    """The statistical power of the visits."""

    factor: float = Field(description="Assumed change of a row, as a factor of its share.")
    share: float = Field(description="Assumed share of the row in the base.", ge=0, le=1)
    power: float = Field(description="Probability that this change is significant.", ge=0, le=1)


class DiffAnswer(Answer):
    """Two selections compared row by row."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    by: list[str]
    rows: list[DiffRow] = Field(description="The heaviest rows of either side, by descending difference.")
    rows_total: int = Field(description="Rows that either side has.")
    power: Power | None = Field(description="Null without a random design.")
    part: float = Field(
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


_FORMS: Forms[Compared] = Forms((*forms_of(DiffAnswer, "rows").forms, *FILES))


def diff_document(selection: Selection, base: Selection, found: FoundDiff) -> Json:
    """The answer of /diff."""
    scale, power = found.kind.seconds_per_unit, found.comparison.power
    return {
        "selection": selection_document(selection, found.kind),
        "base": selection_document(base, found.kind),
        "totals": totals_document(found.totals, scale),
        "base_totals": totals_document(found.base_totals, scale),
        "by": list(found.by),
        "rows": [diff_row_document(row, scale) for row in found.comparison.rows],
        "rows_total": found.comparison.rows_total,
        "power": power and {"factor": power.factor, "share": power.share, "power": power.power},
        "part": found.comparison.part,
        "interval_level": found.comparison.level,
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/diff",
        summary="Compare two selections",
        description="The rows whose share of the selection differs from their share of its base, and the differences "
        "that chance among visits does not explain. Both sides have the same event. Files of stacks contain "
        "the stacks of both sides; values of the base are negative.",
        response_model=DiffAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def diff(
        *,
        request: Request,
        selection: Selected,
        base: Base,
        by: Keys = "function",
        limit: Annotated[
            int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows to compare.")
        ] = 100,
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "total",
        value: ValueOfBoth = Value.ESTIMATE,
    ) -> Response:
        def document() -> Json:
            question = DiffQuestion(selection, base, keys_of(by), limit=limit, own=share == "self")
            return diff_document(selection, base, handler.queries.ask(question))

        stacks = DiffFile(handler.queries.ask, selection, base, "diff", value)
        return await handler.answer(request, _FORMS, Compared(document, stacks))
