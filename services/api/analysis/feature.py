"""The share of work that a hardware feature would speed up, and its saving: /analysis/feature."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.envelope import Figure, figure_document
from services.api.analysis.model_answers import OfSamples, of_samples
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.feature import MOST_ROWS, FeatureQuestion
from storage.query.models.feature import FeatureAnswer as FoundFeature
from storage.query.selections.patterns import LONGEST


class FeatureRow(Answer):
    """One of the functions that the feature affects."""

    function: str
    share: float = Field(description="Estimated share of the selection by self, 0…1.")


class FeatureAnswer(OfSamples):
    """The total share of the functions that a feature affects."""

    functions: str = Field(description="The pattern.")
    speedup: float
    share: Figure | None = Field(description="Share of everything that the label matchers select, 0…1.")
    low_confidence: bool | None = Field(
        description="Low confidence: too few visits contribute for a narrow interval."
    )
    visits: int | None = Field(description="Visits that contribute to the share.")
    saved: Figure | None = Field(description="Saved share if the functions become `speedup` times as fast.")
    rows: list[FeatureRow] = Field(description="The largest of the functions.")
    rows_total: int


_FORMS = forms_of(FeatureAnswer, "rows")


def feature_document(question: FeatureQuestion, found: FoundFeature) -> Json:
    """The answer of /analysis/feature."""
    touched = found.found
    figures = {
        "functions": question.functions,
        "speedup": question.speedup,
        "share": figure_document(None if touched is None else touched.share),
        "low_confidence": touched and touched.low_confidence,
        "visits": touched and touched.visits,
        "saved": figure_document(found.saved),
        "rows": [{"function": row.function, "share": row.share} for row in found.rows],
        "rows_total": found.rows_total,
    }
    return of_samples(question.selection, found.kind, found.totals, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/feature",
        summary="The effect of a hardware feature",
        description="The share of time, or of `event=cycles`, of all functions whose name matches a pattern, with its "
        "interval. The answer also has the share of the whole that a speedup of them saves.",
        response_model=FeatureAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def feature(
        request: Request,
        selection: Selected,
        functions: Annotated[
            str,
            Query(
                description="An RE2 expression. It matches any part of a function's name.",
                examples=["^(__)?mem(cpy|move|set)"],
                min_length=1,
                max_length=LONGEST,
            ),
        ],
        speedup: Annotated[
            float, Query(ge=1, le=1e6, description="Speedup of the functions, as a factor.")
        ] = 2.0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of functions.")] = 20,
    ) -> Response:
        question = FeatureQuestion(selection, functions, speedup, limit)
        return await handler.answer(
            request, _FORMS, lambda: feature_document(question, handler.queries.ask(question))
        )
