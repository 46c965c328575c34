"""The answer of ratios of counters, such as cycles per instruction."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class RatioRow(Answer):
    """One ratio of sums over the fleet's visits."""

    key: Annotated[dict[str, str], Field(description="One member for each key of `by`.")]
    from_: Annotated[str | None, Field(description="Start of the row's step, RFC 3339. Null without steps.")]
    ratio: Annotated[Figure | None, Field(description="Null: not counted.")]
    low_confidence: Annotated[
        bool, Field(description="Low confidence: too few visits contribute for a narrow interval.")
    ]
    visits: int
    machines: int
    numerator: Annotated[
        float,
        Field(
            description="Estimated sum over what was counted in the covered time. Machines that cannot count are not "
            "included; by application, only counted control groups are."
        ),
    ]
    denominator: Annotated[float, Field(description="Estimated like `numerator`.")]


@dataclass(frozen=True, slots=True)
class RatioAnswer(Answer):
    """Ratios of the fleet's counters. Null: no machine could count."""

    selection: MachineSelectionEcho
    ratio: Annotated[str, Field(examples=["cycles / instructions"])]
    unit: Annotated[str, Field(examples=["cycles per instruction"])]
    by: tuple[str, ...]
    step_seconds: Annotated[int, Field(description="Seconds of a step. 0: without steps.")]
    rows: tuple[RatioRow, ...]
    rows_total: int
    inputs: Inputs
    because: Because
