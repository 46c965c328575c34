"""Labels and their values: /labels."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.estimates import as_seconds
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from storage.query.selections.selection import Selection
from storage.query.shapes.labels import MOST_VALUES, Labels, LabelsQuestion


class LabelValue(Answer):
    """A value of a label."""

    value: str = Field(description="The empty text: the profile has no such label.")
    seconds: float | None = Field(description="Observed seconds. Null for events not counted in time.")
    share: float = Field(description="Estimated share of the selection.", ge=0, le=1)


class LabelAnswer(Answer):
    """A label that some profile of the selection has."""

    name: str = Field(examples=["application"])
    values: list[LabelValue] = Field(description="By descending share.")
    more: int = Field(description="Number of values beyond `limit`.")


class LabelsAnswer(Answer):
    """The labels of a selection."""

    selection: SelectionEcho
    labels: list[LabelAnswer]


_FORMS = forms_of(LabelsAnswer, "labels.values")


def labels_document(selection: Selection, found: Labels) -> Json:
    """The answer of /labels."""
    scale = found.kind.seconds_per_unit
    return {
        "selection": selection_document(selection, found.kind),
        "labels": [
            {
                "name": label.name,
                "values": [
                    {
                        "value": v.value,
                        "seconds": as_seconds(v.units, scale),
                        "share": v.share,
                    }
                    for v in label.values
                ],
                "more": label.more,
            }
            for label in found.labels
        ],
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/labels",
        summary="Labels and their values",
        description="The labels that the profiles of a selection have, and the share of each value. `focus` and "
        "`ignore` have no effect here: labels belong to processes, not to functions.",
        response_model=LabelsAnswer,
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
    ) -> Response:
        def document() -> Json:
            found = handler.queries.ask(LabelsQuestion(selection, limit=limit, find=find))
            return labels_document(selection, found)

        return await handler.answer(request, _FORMS, document)
