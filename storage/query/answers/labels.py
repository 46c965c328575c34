"""The answer of the labels of a selection."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.selection_echo import SelectionEcho


@dataclass(frozen=True, slots=True)
class LabelValue(Answer):
    """A value of a label."""

    value: Annotated[str, Field(description="The empty text: the profile has no such label.")]
    seconds: Annotated[
        float | None, Field(description="Observed seconds. Null for events not counted in time.")
    ]
    share: Annotated[Share, Field(description="Estimated share of the selection.")]


@dataclass(frozen=True, slots=True)
class LabelAnswer(Answer):
    """A label that some profile of the selection has."""

    name: Annotated[str, Field(examples=["application"])]
    values: Annotated[tuple[LabelValue, ...], Field(description="By descending share.")]
    more: Annotated[int, Field(description="Number of values beyond `limit`.")]


@dataclass(frozen=True, slots=True)
class LabelsAnswer(Answer):
    """The labels of a selection."""

    selection: Annotated[
        SelectionEcho,
        Field(description="The selection that shares are of. With `except` it has no matcher on that label."),
    ]
    labels: tuple[LabelAnswer, ...]
