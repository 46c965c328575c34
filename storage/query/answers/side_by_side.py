"""The answer of two platforms, counter by counter."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from analysis.confidence import LEVEL
from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class SideRow(Answer):
    """One figure on both platforms."""

    name: Annotated[str, Field(examples=["cpi"])]
    unit: str
    first: Annotated[Figure | None, Field(description="Null: not counted there.")]
    second: Figure | None
    factor: Annotated[
        Figure | None,
        Field(
            description="second ÷ first, with its interval at `interval_level`. Null if one of them is null."
        ),
    ]
    p: Annotated[float | None, Field(description="p-value of the hypothesis that the two are equal.")]
    significant: Annotated[
        bool,
        Field(description="The factor's interval excludes 1. At most 5 % of the marked figures are false."),
    ]
    low_confidence: Annotated[bool, Field(description="Most of one side comes from one or two visits.")]
    suspect: Annotated[
        bool,
        Field(
            description="The two certainly differ at least tenfold, so the events may not count the same thing."
        ),
    ]
    first_visits: int
    second_visits: int


@dataclass(frozen=True, slots=True)
class SideAnswer(Answer):
    """Every figure that either platform has."""

    selection: MachineSelectionEcho
    first: str
    second: str
    interval_level: Annotated[float, Field(description="Level of the factors' intervals.", ge=LEVEL, le=1)]
    rows: tuple[SideRow, ...]
    inputs: Inputs
    because: Because
