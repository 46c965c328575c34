"""The answer of shares of the fleet's work by a label over time."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Unavailable
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class SharePoint(Answer):
    """A value's share in one step."""

    share: Annotated[
        Figure | None, Field(description="Share of the selection in each step. Null: no visit in that step.")
    ]
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class Reached(Answer):
    """The time at which a value reached a level of its share."""

    level: float
    at: Annotated[str, Field(description="RFC 3339.")]
    earliest: Annotated[str | None, Field(description="Null: possibly reached before the first step.")]
    latest: Annotated[str | None, Field(description="Null: possibly not reached yet.")]


@dataclass(frozen=True, slots=True)
class ChangeAnswer(Answer):
    """The appearance or disappearance of a value."""

    reached: tuple[Reached, ...]
    duration_seconds: Annotated[
        float | None, Field(description="Time from 10 to 90 %. Null until the value reaches both.")
    ]
    share: Annotated[Figure, Field(description="Share in the last step.")]
    fell_back: Annotated[bool, Field(description="The roll-out was reversed, in whole or in part.")]


@dataclass(frozen=True, slots=True)
class ValueRow(Answer):
    """One value over time."""

    value: str
    share: Annotated[float, Field(description="Estimated share of the whole selection, 0…1.")]
    points: Annotated[tuple[SharePoint, ...], Field(description="One share for each of `times`.")]
    change: ChangeAnswer | None
    because: Annotated[Unavailable | None, Field(description="The reason why the change is unknown.")]


@dataclass(frozen=True, slots=True)
class CompositionAnswer(Answer):
    """Shares by one label over time, each with its interval."""

    selection: SelectionEcho
    totals: Totals
    by: str
    step_seconds: int
    times: Annotated[tuple[str, ...], Field(description="Start times of the steps, RFC 3339.")]
    rows: tuple[ValueRow, ...]
    rows_total: int
    because: Because
