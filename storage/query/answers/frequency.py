"""The answer of predicted slowdowns at other frequencies."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.apu import Coefficient
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho
from storage.query.answers.slowdowns import Memory, Slowdown

LowestMhz = Annotated[
    Figure | None,
    Field(
        description="Lowest frequency that keeps the requested performance. Null: no frequency keeps it, or any does; "
        "`because` has the reason."
    ),
]
LowestAtMemoryMhz = Annotated[
    Figure | None,
    Field(description="The same with the requested memory frequency. Null also if none was requested."),
]
LowestAtMemoryBecause = Annotated[
    Unavailable | None,
    Field(
        description="The reason why there is none with that memory: unreachable, no frequency keeps the performance; "
        "unbounded, any frequency does."
    ),
]


@dataclass(frozen=True, slots=True)
class FrequencyRow(Answer):
    """One application."""

    application: str
    cpu_seconds: Annotated[
        float,
        Field(description="Core-seconds of the fleet in the covered time, from the visits that can be used."),
    ]
    visits: int
    off_chip: Annotated[
        Figure | None, Field(description="Share of the time at the base frequency that waits for memory.")
    ]
    slowdowns: tuple[Slowdown, ...]
    lowest_mhz: LowestMhz
    lowest_at_memory_mhz: LowestAtMemoryMhz
    lowest_at_memory_because: LowestAtMemoryBecause
    low_confidence: bool
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class FrequencyAnswer(Answer):
    """Predicted slowdowns, and what the model leaves out."""

    selection: MachineSelectionEcho
    base_mhz: float | None
    performance: float
    memory: Memory | None
    rows: tuple[FrequencyRow, ...]
    rows_total: int
    latencies: Annotated[
        tuple[Coefficient, ...], Field(description="The nanoseconds of a miss used for each platform.")
    ]
    limits: Annotated[tuple[str, ...], Field(description="Visits and platforms that the model leaves out.")]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Because
