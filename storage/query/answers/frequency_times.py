"""The answer of a fit to times measured at several frequencies."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.slowdowns import Memory, Slowdown


@dataclass(frozen=True, slots=True)
class TimedSetting(Answer):
    """Runs at one frequency of the cores, and of the memory where it varies."""

    mhz: float
    memory_mhz: float | None
    runs: int
    seconds: Annotated[float, Field(description="Mean seconds of these runs.")]
    fitted: float
    held_out: Annotated[
        float | None,
        Field(
            description="Relative error of the prediction of this setting from all others. Null: there are too few others."
        ),
    ]
    naive: Annotated[float | None, Field(description="The same if all time were on the chip.")]


@dataclass(frozen=True, slots=True)
class TimedSlowdown(Slowdown):
    """The slowdown at one frequency."""

    seconds: Annotated[
        Figure, Field(description="Seconds of one more run, with the interval that contains it.")
    ]


@dataclass(frozen=True, slots=True)
class FrequencyTimesAnswer(Answer):
    """The fit of times, and its predictions."""

    runs: int
    base_mhz: Annotated[float | None, Field(description="Frequency that slowdowns are relative to.")]
    base_memory_mhz: Annotated[
        float | None,
        Field(
            description="The memory's frequency at the base. With several, the frequency of the fastest runs. Null: not "
            "known."
        ),
    ]
    performance: float
    memory: Annotated[
        Memory | None,
        Field(description="The assumed effect of the memory. Null also if the effect was fitted."),
    ]
    memory_target_mhz: float | None
    on_chip_cycles: Annotated[Figure | None, Field(description="A: cycles of the cores.")]
    fixed_seconds: Annotated[
        Figure | None, Field(description="B: seconds that scale with no frequency that varied.")
    ]
    memory_cycles: Annotated[
        Figure | None, Field(description="C: cycles of the memory; null: its frequency did not vary.")
    ]
    off_chip: Annotated[
        Figure | None,
        Field(description="Share of the time at the base that does not scale with the cores' clock."),
    ]
    spread: Annotated[
        float | None,
        Field(
            description="Relative standard deviation of times around the fit. Null: no time is left over to estimate it, "
            "and intervals are open."
        ),
    ]
    held_out_error: Annotated[float | None, Field(description="Mean absolute value of the rows' `held_out`.")]
    naive_error: Annotated[float | None, Field(description="Mean absolute value of the rows' `naive`.")]
    lowest_mhz: Annotated[
        Figure | None,
        Field(
            description="Lowest frequency that keeps the requested performance. Null: no frequency keeps it, any does, or "
            "nothing is known."
        ),
    ]
    lowest_because: Annotated[
        Unavailable | None,
        Field(
            description="The reason why there is no lowest frequency: unreachable, no frequency keeps it; unbounded, any "
            "frequency does."
        ),
    ]
    lowest_at_memory_mhz: Annotated[
        Figure | None,
        Field(description="The same with the requested memory frequency. Null also if none was requested."),
    ]
    lowest_at_memory_because: Unavailable | None
    clipped: Annotated[
        bool, Field(description="A, B or C is 0, because its fitted value was negative by chance.")
    ]
    slowdowns: tuple[TimedSlowdown, ...]
    rows: Annotated[tuple[TimedSetting, ...], Field(description="The given times by frequency.")]
    limits: Annotated[tuple[str, ...], Field(description="Parts that the model leaves out.")]
    because: Unavailable | None
