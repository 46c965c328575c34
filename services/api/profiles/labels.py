"""Labels and their values: /labels."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.errors import BadSelection
from storage.query.answers.labels import LabelsAnswer
from storage.query.selections.grammar import parse_keys
from storage.query.shapes.labels import MOST_VALUES, LabelsQuestion

_FORMS = forms_of(LabelsAnswer, "labels.values")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/labels",
        summary="Labels and their values",
        description="The labels that the profiles of a selection have, and the share of each value. `focus` and "
        "`ignore` have no effect here: labels belong to processes, not to functions.",
        response_model=described_by(LabelsAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def labels(
        request: Request,
        selection: Selected,
        limit: Annotated[
            int, Query(ge=1, le=MOST_VALUES, description="Largest number of values for each label.")
        ] = 50,
        find: Annotated[
            str, Query(max_length=200, description="Only values that contain this text, regardless of case.")
        ] = "",
        without: Annotated[
            str,
            Query(
                alias="except",
                description="Only this label, with its values under the other matchers: those on the label itself are "
                "left out. These are the values that a reader can switch to.",
                examples=["application"],
                max_length=500,
            ),
        ] = "",
    ) -> Response:
        question = LabelsQuestion(selection, limit=limit, find=find, without=label_of(without))
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))


def label_of(text: str) -> str:
    """The single label that the text of `except` names; empty for the empty text. Raises `BadSelection`."""
    if not text.strip():
        return ""
    names = parse_keys(text, parameter="except")
    if len(names) != 1:
        raise BadSelection(
            f"`except` names {len(names)} labels.",
            hint="Name one label, for example except=application.",
            parameter="except",
        )
    return names[0]
