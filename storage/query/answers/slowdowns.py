"""Parts of answers about frequencies: slowdowns, and another frequency of the memory."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure


@dataclass(frozen=True, slots=True)
class Memory(Answer):
    """Another memory frequency, and its assumed effect."""

    measured_mhz: float
    target_mhz: float
    part: Annotated[
        float,
        Field(description="Share of the waiting time that is assumed to scale with the memory's clock."),
    ]
    waiting: Annotated[float, Field(description="Factor of the waiting time.")]


@dataclass(frozen=True, slots=True)
class Slowdown(Answer):
    """The slowdown at one frequency."""

    mhz: float
    slowdown: Annotated[Figure | None, Field(description="Time ratio − 1; below 0 is faster.")]
    naive: Annotated[float, Field(description="The same if all time were on the chip: base ÷ frequency − 1.")]
    at_memory: Annotated[
        Figure | None,
        Field(
            description="The slowdown with the requested memory frequency, relative to the base with the measured one. "
            "Null: none was requested."
        ),
    ]
