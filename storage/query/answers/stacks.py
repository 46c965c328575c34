"""The answer of the distinct stacks of a selection."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval
from storage.query.answers.functions import KindName
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class StackFrame(Answer):
    """A function in a stack."""

    function: str
    file: Annotated[str, Field(description="Empty: not known.")]
    binary: str
    kind: KindName


@dataclass(frozen=True, slots=True)
class StackRow(Answer):
    """A stack, in the profiles with one combination of the requested labels."""

    key: Annotated[
        dict[str, str],
        Field(
            description="One member for each of `labels`. The empty text: the profile does not have the label.",
            examples=[{"application": "nginx"}],
        ),
    ]
    frames: Annotated[tuple[StackFrame, ...], Field(description="Outermost first.")]
    samples: int
    units: Annotated[int, Field(description="Sum of the units that each sample stands for.")]
    seconds: Annotated[
        float | None, Field(description="Observed seconds. Null for events not counted in time.")
    ]
    share: Annotated[
        Share,
        Field(
            description="Estimated share of the whole selection, before filters on stacks. Without a random design, the "
            "observed share."
        ),
    ]
    lo: Annotated[
        float | None, Field(description="95 % interval of the share. Null without a random design.")
    ]
    hi: float | None
    core_seconds: Annotated[
        Interval | None,
        Field(
            description="CPU time of the whole fleet in `estimated_seconds`. Null for events not counted in time."
        ),
    ]
    low_confidence: Annotated[
        bool,
        Field(
            description="Low confidence: too few visits contribute for a narrow interval, so it is widened."
        ),
    ]


@dataclass(frozen=True, slots=True)
class StacksRemainder(Answer):
    """The stacks that are not shown. With the shown stacks they add up to the whole."""

    stacks: int
    samples: int
    units: int
    seconds: float | None
    share: Annotated[Share, Field(description="Estimated share, like those of the rows.")]


@dataclass(frozen=True, slots=True)
class StacksAnswer(Answer):
    """The distinct stacks of a selection."""

    selection: SelectionEcho
    totals: Totals
    by: Annotated[tuple[str, ...], Field(description="Labels that divide the stacks.")]
    rows: Annotated[tuple[StackRow, ...], Field(description="Heaviest first.")]
    rows_total: int
    remainder: StacksRemainder
