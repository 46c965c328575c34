"""How well a load test represents production: /analysis/load-test."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.confidence import LEVEL
from services.api.analysis.envelope import Figure, NoAnswerReason, because_document, figure_document
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Base, Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.models.load_test import LoadTestAnswer as FoundTest
from storage.query.models.load_test import LoadTestQuestion

_MOST_SHOWN = 500


class DifferingRow(Answer):
    """A row whose share in the test certainly differs from production."""

    key: dict[str, str] = Field(description="One member for each key of `by`.")
    test_share: float = Field(description="Self share of the test, 0…1.")
    production_share: float
    delta: Figure = Field(
        description="test_share − production_share, with its interval at `interval_level`; it excludes 0."
    )


class LoadTestAnswer(Answer):
    """A load test's profile beside production's."""

    selection: SelectionEcho = Field(description="Visits of the test.")
    base: SelectionEcho = Field(description="Production.")
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    by: list[str]
    representative: bool | None = Field(
        description="True: the data show no difference between the test and a part of production. Null, like the next "
        "fields: `because` gives the reason."
    )
    distance: float | None = Field(
        description="Manhattan distance of the two profiles: 0 if they are alike, at most 2."
    )
    matched: Figure | None = Field(
        description="Distance of the test from production, from as many visits and samples as the random parts of "
        "production have."
    )
    floor: Figure | None = Field(
        description="Distance of such parts from the rest of production: the effect of chance alone."
    )
    p: float | None = Field(
        description="Share of these parts that are as far from production as the test.", ge=0, le=1
    )
    covered: float | None = Field(
        description="Share of production's samples in rows that the test ran at all, 0…1."
    )
    compared_visits: int | None
    compared_samples: float | None
    rows: list[DifferingRow] = Field(description="The rows that cause the difference, the largest first.")
    rows_total: int
    interval_level: float | None = Field(
        description="Level of the intervals of all rows' differences. It is above 0.95 if many rows are compared and "
        "few differ.",
        ge=LEVEL,
        le=1,
    )
    because: NoAnswerReason | None


_FORMS = forms_of(LoadTestAnswer, "rows")


def load_test_document(question: LoadTestQuestion, answer: FoundTest) -> Json:
    """The answer of /analysis/load-test."""
    found, scale = answer.found, answer.kind.seconds_per_unit
    return {
        "selection": selection_document(question.test, answer.kind),
        "base": selection_document(question.production, answer.kind),
        "totals": totals_document(answer.test_totals, scale),
        "base_totals": totals_document(answer.production_totals, scale),
        "by": list(answer.by),
        "representative": None if found is None else found.representative,
        "distance": None if found is None else found.distance,
        "matched": None if found is None else figure_document(found.matched),
        "floor": None if found is None else figure_document(found.floor),
        "p": None if found is None else found.p,
        "covered": None if found is None else found.covered,
        "compared_visits": None if found is None else found.compared_visits,
        "compared_samples": None if found is None else found.compared_samples,
        "rows": [
            {
                "key": row.key,
                "test_share": row.test,
                "production_share": row.production,
                "delta": {"value": row.test - row.production, "lo": row.lo, "hi": row.hi},
            }
            for row in answer.rows
        ],
        "rows_total": answer.rows_total,
        "interval_level": None if found is None else found.diff.level,
        "because": because_document(answer.unavailable),
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/load-test",
        summary="Compare a load test with production",
        description="The selection is the test, the base is production. The answer compares their distance with the "
        "distance of random parts of production, of as many visits and samples, from the rest of "
        "production. It lists the functions that differ.",
        response_model=LoadTestAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def load_test(
        request: Request,
        selection: Selected,
        base: Base,
        by: Keys = "function",
        limit: Annotated[
            int, Query(ge=1, le=_MOST_SHOWN, description="Largest number of differing rows.")
        ] = 20,
    ) -> Response:
        def document() -> Json:
            question = LoadTestQuestion(selection, base, keys_of(by), limit)
            return load_test_document(question, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
