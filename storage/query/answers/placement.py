"""The answer of a placement of applications on shared machines."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.interference import Chip, Source
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class PlacedRow(Answer):
    """One program."""

    application: str
    machine: Annotated[
        int | None,
        Field(description="Number of the machine, from 0. Null: not placed; `because` gives the reason."),
    ]
    most: Annotated[
        float | None, Field(description="Largest degradation that the program may suffer. Null: any.")
    ]
    degradation: Annotated[
        float | None,
        Field(
            description="Predicted time ratio − 1 beside the programs on the same machine. 0: it is alone. Null: no model "
            "can predict it."
        ),
    ]
    kept: Annotated[bool | None, Field(description="The target of the program is kept.")]
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class PlacementAnswer(Answer):
    """The best placement found. It is not proven to be optimal."""

    selection: MachineSelectionEcho
    source: Source
    chip: Chip
    machines: int
    slots: int
    rows: tuple[PlacedRow, ...]
    rows_total: int
    ended: Annotated[
        bool,
        Field(
            description="No tested exchange improves the placement. False: the search stopped at its limit."
        ),
    ]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Unavailable | None
