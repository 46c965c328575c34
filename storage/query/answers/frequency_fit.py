"""The answer of the time of applications as a function of the frequency."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.frequency import LowestAtMemoryBecause, LowestAtMemoryMhz, LowestMhz
from storage.query.answers.inputs import Because, Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho
from storage.query.answers.slowdowns import Memory, Slowdown


@dataclass(frozen=True, slots=True)
class FrequencyStep(Answer):
    """Visits at nearly one frequency."""

    mhz: Annotated[float, Field(description="Mean, by CPU time.")]
    visits: int
    machines: int
    ns_per_instruction: Annotated[float, Field(description="Cycles per instruction as counted.")]
    fitted: Annotated[float, Field(description="Cycles per instruction by the fit.")]
    held_out: Annotated[
        float | None,
        Field(
            description="Relative error of the prediction of this step from the other steps. Null: there are fewer than two "
            "others."
        ),
    ]
    naive: Annotated[
        float | None,
        Field(description="The same if all time were on the chip, so that CPI is equal at any frequency."),
    ]


@dataclass(frozen=True, slots=True)
class FrequencyFitRow(Answer):
    """One application on one platform."""

    application: str
    platform: str
    cpu_seconds: Annotated[
        float,
        Field(description="Core-seconds of the fleet in the covered time, of the counted control groups."),
    ]
    visits: int
    machines: int
    base_mhz: Annotated[float | None, Field(description="Frequency that slowdowns are relative to.")]
    off_chip: Annotated[
        Figure | None,
        Field(description="Share of the time at the base frequency that does not scale with the clock."),
    ]
    on_chip_cpi: Annotated[Figure | None, Field(description="A: cycles per instruction without waiting.")]
    waiting_ns: Annotated[
        Figure | None, Field(description="B: nanoseconds that an instruction waits on average.")
    ]
    slowdowns: tuple[Slowdown, ...]
    lowest_mhz: LowestMhz
    lowest_at_memory_mhz: LowestAtMemoryMhz
    lowest_at_memory_because: LowestAtMemoryBecause
    steps: Annotated[
        tuple[FrequencyStep, ...], Field(description="The observed steps, the lowest frequency first.")
    ]
    load_correlation: Annotated[
        float | None,
        Field(
            description="Correlation of frequency and load. The fit includes the effect of load; near 1 the two effects can "
            "hardly be separated."
        ),
    ]
    clipped: Annotated[
        bool, Field(description="A or B is 0, because its fitted value was negative by chance.")
    ]
    low_confidence: bool
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class FrequencyFitAnswer(Answer):
    """A/f + B of applications, platform by platform."""

    selection: MachineSelectionEcho
    performance: float
    memory: Memory | None
    rows: tuple[FrequencyFitRow, ...]
    rows_total: int
    limits: Annotated[
        tuple[str, ...], Field(description="Visits and applications that the model leaves out.")
    ]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Because
