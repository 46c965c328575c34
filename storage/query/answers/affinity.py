"""The answer of the assignment of applications to platforms."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class MoveRow(Answer):
    """Work that should change platforms."""

    application: str
    source: Annotated[str, Field(description="Platform to move the work from.")]
    destination: str
    instructions: Annotated[
        float,
        Field(
            description="Estimated instructions in the covered time. Only counted control groups on machines that can count "
            "are included."
        ),
    ]
    share: Annotated[float, Field(description="Share of the application's counted instructions, 0…1.")]
    saving_cycles: Annotated[float, Field(description="0 or less: the move makes room for another one.")]


@dataclass(frozen=True, slots=True)
class Present(Answer):
    """One application on one platform, as it runs today."""

    application: str
    platform: str
    cpi: Annotated[
        Figure | None,
        Field(description="Cycles per instruction. Null: not measured, so no work is moved there."),
    ]
    instructions: Annotated[
        float, Field(description="Estimated instructions, from counted control groups as in the moves.")
    ]


@dataclass(frozen=True, slots=True)
class AffinityAnswer(Answer):
    """The assignment with the fewest cycles, and its saving."""

    selection: MachineSelectionEcho
    present: tuple[Present, ...]
    present_cycles: Annotated[
        float | None, Field(description="Null, like the next fields: `because` gives the reason.")
    ]
    planned_cycles: float | None
    saving_cycles: Annotated[
        Figure | None,
        Field(
            description="Estimated saving, corrected for the plan's optimism: the plan was chosen by measurements with "
            "errors."
        ),
    ]
    optimism_cycles: float | None
    certain_cycles: Annotated[
        float | None, Field(description="The saving if every CPI is at the worse end of its interval.")
    ]
    unknown: Annotated[
        int | None, Field(description="Pairs of an application and a platform without a measurement.")
    ]
    rows: Annotated[
        tuple[MoveRow, ...],
        Field(
            description="The moves that bring four fifths of the saving, and the moves that make room for them."
        ),
    ]
    rows_total: int
    inputs: Inputs
    because: Because
