"""The answer of a comparison: the rows of two selections."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from analysis.confidence import LEVEL
from storage.query.answers.answer import Answer, Difference, Share
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals

IntervalLevel = Annotated[
    float | None,
    Field(
        description="Level of the intervals of all differences. It is above 0.95 if many rows are compared and few "
        "differ. Null without a random design.",
        ge=LEVEL,
        le=1,
    ),
]
ComparedPart = Annotated[
    Share,
    Field(
        description="Share of the visits used for p-values, intervals of differences and power: a random part, if "
        "shuffling all of them takes too long. Shares use all visits.",
    ),
]


@dataclass(frozen=True, slots=True)
class DiffRow(Answer):
    """One row of both selections; null evidence: one of them is no random sample."""

    key: Annotated[dict[str, str], Field(description="As in /table.")]
    function_id: Annotated[int | None, Field(description="Null unless the rows are functions.")]
    a_share: Annotated[Share, Field(description="Estimated share of the selection.")]
    b_share: Annotated[Share, Field(description="Estimated share of its base.")]
    delta: Annotated[Difference, Field(description="a_share - b_share. Positive: heavier in the selection.")]
    lo: Annotated[
        Difference | None,
        Field(
            description="Interval of delta at `interval_level`. It excludes 0 exactly if the row is significant."
        ),
    ]
    hi: Difference | None
    p: Annotated[
        Share | None,
        Field(
            description="Probability that chance among visits alone causes a difference as large: visits are shuffled "
            "within strata."
        ),
    ]
    q: Annotated[
        Share | None,
        Field(
            description="Smallest false discovery rate at which the row is significant (Benjamini and Hochberg)."
        ),
    ]
    significant: Annotated[
        bool,
        Field(
            description="The interval excludes 0 (q ≤ 0.05). On average, chance causes at most 5 % of the significant rows."
        ),
    ]
    low_confidence: Annotated[
        bool,
        Field(description="Low confidence: too few visits of one side contribute for a narrow interval."),
    ]
    a_cores: Annotated[
        Interval | None,
        Field(
            description="Mean number of cores busy with the row in the selection's `estimated_seconds`. Null for events not "
            "counted in time, and without a random design, like the next two fields."
        ),
    ]
    b_cores: Annotated[
        Interval | None,
        Field(description="Mean number of cores busy with the row in the base's `estimated_seconds`."),
    ]
    cores: Annotated[
        Interval | None,
        Field(
            description="a_cores - b_cores with the 95 % interval of the difference. p and q are for the difference of "
            "shares."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Power(Answer):
    """The statistical power of the visits."""

    factor: Annotated[float, Field(description="Assumed change of a row, as a factor of its share.")]
    share: Annotated[Share, Field(description="Assumed share of the row in the base.")]
    power: Annotated[Share, Field(description="Probability that this change is significant.")]


@dataclass(frozen=True, slots=True)
class DiffAnswer(Answer):
    """Two selections compared row by row."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    rows: Annotated[
        tuple[DiffRow, ...],
        Field(description="The heaviest rows of either side, by descending difference."),
    ]
    rows_total: Annotated[int, Field(description="Rows that either side has.")]
    power: Annotated[Power | None, Field(description="Null without a random design.")]
    part: ComparedPart
    interval_level: IntervalLevel
