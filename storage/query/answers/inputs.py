"""The inputs that every model reports with its answer: their amount, what is missing, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer


@dataclass(frozen=True, slots=True)
class MissingCounter(Answer):
    """A counter that has no value in some visits."""

    name: Annotated[str, Field(examples=["cycles"])]
    status: Annotated[str, Field(description="unsupported, denied, busy or not_counted.")]
    errno: int
    platform: str
    visits: int


@dataclass(frozen=True, slots=True)
class Inputs(Answer):
    """The data that an answer uses."""

    design: Annotated[
        Literal["random", "none"],
        Field(
            description="random; none: visits by hand, which do not represent the fleet, or no visits were read."
        ),
    ]
    covered_seconds: Annotated[
        float,
        Field(description="Seconds of the requested range in which the campaign's rounds drew visits."),
    ]
    population: Annotated[
        float, Field(description="Machines that the campaign draws from, as a mean over the covered time.")
    ]
    visits: Annotated[
        int,
        Field(
            description="Ingested visits of the selection. 0 if none were read, because named experiments train "
            "the model."
        ),
    ]
    used: Annotated[int, Field(description="Number of these visits that have the data that the model needs.")]
    missing: Annotated[
        tuple[MissingCounter, ...], Field(description="Counters without a value, with the reason.")
    ]


@dataclass(frozen=True, slots=True)
class Unavailable(Answer):
    """The reason why there is no answer."""

    reason: Annotated[
        str,
        Field(
            description="too_little, not_a_number, constant, contradictory, unreachable, unbounded or not_random."
        ),
    ]
    detail: Annotated[str, Field(description="The reason as a sentence.")]


Because = Annotated[
    Unavailable | None, Field(description="The reason why there is no answer. Null if there is one.")
]
"""Why an answer has no figures."""


@dataclass(frozen=True, slots=True)
class LeftOut(Answer):
    """Visits that a model cannot use."""

    why: str
    visits: int


def left_out(reasons: Mapping[str, int]) -> tuple[LeftOut, ...]:
    """Numbers of unusable visits by reason, the most frequent reason first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LeftOut(why, visits) for why, visits in ordered)
