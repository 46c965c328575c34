"""The answer of a profile's stability: its rating in one word, with the reasons."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals

Badge = Literal["steady", "fair", "rough", "shifting", "few"]
"""The rating of a profile."""


@dataclass(frozen=True, slots=True)
class DayRow(Answer):
    """The profile on one UTC day."""

    day: Annotated[str, Field(description="Start of the day, RFC 3339.")]
    visits: Annotated[int, Field(description="Visits with a sample of the profile.")]
    samples: float
    entropy: Annotated[
        Figure,
        Field(description="Entropy in nats. The interval has no width if only one visit has samples."),
    ]
    shifted: Annotated[
        bool, Field(description="The day's entropy differs significantly from that of the other days.")
    ]


@dataclass(frozen=True, slots=True)
class StabilityAnswer(Answer):
    """A profile's badge and its reasons."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    badge: Annotated[
        Badge | None,
        Field(
            description="Use of the profile. steady: small rows too; fair: the hottest rows; rough: only the very top; "
            "shifting: the days differ, so look at the shifted days separately; few: too few visits for a "
            "verdict. Null: `because` gives the reason."
        ),
    ]
    misplaced: Annotated[
        Figure | None,
        Field(description="Share of the samples in wrong rows, 0…1. Null if few visits have the selection."),
    ]
    samples: float | None
    more_visits: Annotated[
        float | None,
        Field(
            description="Additional visits with the selection that would make the profile steady. Null: not known."
        ),
    ]
    rows: Annotated[tuple[DayRow, ...], Field(description="Days with visits of the profile, in order.")]
    because: Because
