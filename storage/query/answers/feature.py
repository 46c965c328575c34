"""The answer of the share of work that a hardware feature would speed up, and its saving."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class FeatureRow(Answer):
    """One of the functions that the feature affects."""

    function: str
    share: Annotated[float, Field(description="Estimated share of the selection by self, 0…1.")]


@dataclass(frozen=True, slots=True)
class FeatureAnswer(Answer):
    """The total share of the functions that a feature affects."""

    selection: SelectionEcho
    totals: Totals
    functions: Annotated[str, Field(description="The pattern.")]
    speedup: float
    share: Annotated[
        Figure | None, Field(description="Share of everything that the label matchers select, 0…1.")
    ]
    low_confidence: Annotated[
        bool | None,
        Field(description="Low confidence: too few visits contribute for a narrow interval."),
    ]
    visits: Annotated[int | None, Field(description="Visits that contribute to the share.")]
    saved: Annotated[
        Figure | None, Field(description="Saved share if the functions become `speedup` times as fast.")
    ]
    rows: Annotated[tuple[FeatureRow, ...], Field(description="The largest of the functions.")]
    rows_total: int
    because: Because
