"""The answer of the reliability of a profile."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class FitPoint(Answer):
    """Random subsets of the visits."""

    samples: Annotated[
        float,
        Field(
            description="Mean number of samples of the subsets, less their share of all samples, because the other visits "
            "vary as well."
        ),
    ]
    distance: Annotated[
        float, Field(description="Mean Manhattan distance of the subsets from the other visits, 0…2.")
    ]


@dataclass(frozen=True, slots=True)
class Fit(Answer):
    """How a profile converges: distance = 2 · (1 + (samples / scale)^(bend / 2))^(-1 / bend), in the end C / √samples."""

    constant: Annotated[
        Interval,
        Field(
            description="C of the law C / √samples through the present point: the present distance × √samples. 0: all "
            "visits are alike."
        ),
    ]
    exponent: Annotated[
        float,
        Field(
            description="Present slope of the curve on logarithmic scales: -0.5 where the law holds, nearer to 0 if a long "
            "tail of rows has few samples."
        ),
    ]
    scale: Annotated[
        float, Field(description="Scale of the curve, in samples. 0: the distance is 0 throughout.")
    ]
    bend: Annotated[
        float, Field(description="Bend of the curve: the larger, the sooner the curve follows the law.")
    ]
    samples_per_visit: Annotated[float, Field(description="Mean over `visits`.")]
    visits: Annotated[
        int,
        Field(
            description="Visits with a sample of a row, which the fit uses. `totals.visits_ingested` also counts visits "
            "that watched and saw nothing of the selection."
        ),
    ]
    points: tuple[FitPoint, ...]


@dataclass(frozen=True, slots=True)
class ReliabilityAnswer(Answer):
    """The reliability of a profile as a whole, over the self shares of its rows."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    rows_total: int
    entropy: Annotated[
        Interval | None,
        Field(
            description="Entropy in nats: representative profiles have the same. Null, like the next fields: too few "
            "visits, or no random design."
        ),
    ]
    manhattan: Annotated[
        Interval | None,
        Field(
            description="Distance of two random halves of the visits, 0…2, with the range of 95 % of splits."
        ),
    ]
    fit: Annotated[Fit | None, Field(description="Null if fewer than 8 visits have a sample of a row.")]
