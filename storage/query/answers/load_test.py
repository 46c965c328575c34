"""The answer of how well a load test represents production."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from analysis.confidence import LEVEL
from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class DifferingRow(Answer):
    """A row whose share in the test certainly differs from production."""

    key: Annotated[dict[str, str], Field(description="One member for each key of `by`.")]
    test_share: Annotated[float, Field(description="Self share of the test, 0…1.")]
    production_share: float
    delta: Annotated[
        Figure,
        Field(
            description="test_share − production_share, with its interval at `interval_level`; it excludes 0."
        ),
    ]


@dataclass(frozen=True, slots=True)
class LoadTestAnswer(Answer):
    """A load test's profile beside production's."""

    selection: Annotated[SelectionEcho, Field(description="Visits of the test.")]
    base: Annotated[SelectionEcho, Field(description="Production.")]
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    representative: Annotated[
        bool | None,
        Field(
            description="True: the data show no difference between the test and a part of production. Null, like the "
            "next fields: `because` gives the reason."
        ),
    ]
    distance: Annotated[
        float | None,
        Field(description="Manhattan distance of the two profiles: 0 if they are alike, at most 2."),
    ]
    matched: Annotated[
        Figure | None,
        Field(
            description="Distance of the test from production, from as many visits and samples as the random parts of "
            "production have."
        ),
    ]
    floor: Annotated[
        Figure | None,
        Field(description="Distance of such parts from the rest of production: the effect of chance alone."),
    ]
    p: Annotated[
        Share | None,
        Field(description="Share of these parts that are as far from production as the test."),
    ]
    covered: Annotated[
        float | None,
        Field(description="Share of production's samples in rows that the test ran at all, 0…1."),
    ]
    compared_visits: int | None
    compared_samples: float | None
    rows: Annotated[
        tuple[DifferingRow, ...],
        Field(description="The rows that cause the difference, the largest first."),
    ]
    rows_total: int
    interval_level: Annotated[
        Annotated[float, Field(ge=LEVEL, le=1)] | None,
        Field(
            description="Level of the intervals of all rows' differences. It is above 0.95 if many rows are compared and "
            "few differ."
        ),
    ]
    because: Unavailable | None
