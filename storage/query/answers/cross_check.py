"""The answer of CPU time by samples against the machines' own accounting."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class CrossCheckRow(Answer):
    """The two accounts of the machines of one value."""

    value: Annotated[str, Field(description="A value of the label. The empty text: not known.")]
    sampled_core_seconds: Annotated[
        float, Field(description="Core-seconds of the fleet in the covered time, by samples.")
    ]
    monitored_core_seconds: Annotated[
        float, Field(description="Core-seconds by the machines' own accounting, in the same visits.")
    ]
    ratio: Annotated[Figure | None, Field(description="sampled ÷ monitored.")]
    discrepancy: Annotated[float | None, Field(description="ratio − 1: the excess of samples, as a share.")]
    verdict: Annotated[
        Literal["agree", "differ", "unclear"],
        Field(
            description="agree: the interval lies within 5% of 1; differ: outside; unclear: the interval "
            "crosses the limit."
        ),
    ]
    visits: int


@dataclass(frozen=True, slots=True)
class CrossCheckAnswer(Answer):
    """Comparison of two independent accounts of CPU time."""

    selection: MachineSelectionEcho
    by: str
    tolerance: float
    rows: tuple[CrossCheckRow, ...]
    inputs: Inputs
    because: Because
