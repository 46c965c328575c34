"""The answer of the request rate at which machines are full."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.apu import Coefficient
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class StepRow(Answer):
    """One step of time."""

    from_: Annotated[str, Field(description="RFC 3339.")]
    rate: Annotated[float | None, Field(description="Requests per second, from the request.")]
    utilisation: Annotated[
        Figure | None,
        Field(description="Utilisation of logical CPUs, 0…1. Null: no visit of the step has it."),
    ]
    apu: Annotated[Figure | None, Field(description="By the operating systems' times.")]
    hardware_apu: Annotated[
        Figure | None, Field(description="By cycle counters, from the visits that have them.")
    ]
    visits: int


@dataclass(frozen=True, slots=True)
class ForecastAnswer(Answer):
    """A line of load on request rate, extended to where load is full."""

    limit: Annotated[
        Figure | None,
        Field(
            description="Requests per second at which the machines are full. Null: `because` gives the reason."
        ),
    ]
    intercept: Annotated[float | None, Field(description="Load without requests.")]
    slope: Annotated[float | None, Field(description="Additional load per request per second.")]
    r2: float | None
    observations: int | None
    reach: Annotated[
        float | None,
        Field(description="Largest observed rate ÷ limit: the further from 1, the longer the extrapolation."),
    ]
    curved: Annotated[bool | None, Field(description="The points bend, so the limit is not reliable.")]
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class CapacityAnswer(Answer):
    """Request rates against load, by CPU utilisation and by APU."""

    selection: MachineSelectionEcho
    step_seconds: int
    full: float
    by_utilisation: ForecastAnswer
    by_apu: Annotated[ForecastAnswer, Field(description="By the operating systems' times.")]
    by_hardware: Annotated[
        ForecastAnswer, Field(description="By APU from cycle counters, if nine of ten visits have them.")
    ]
    rows: tuple[StepRow, ...]
    coefficients: Annotated[tuple[Coefficient, ...], Field(description="The overlap coefficients used.")]
    left_out: Annotated[tuple[LeftOut, ...], Field(description="Visits without an APU, with the reason.")]
    inputs: Inputs
    because: Annotated[Unavailable | None, Field(description="The reason why there is no forecast.")]
