"""The answer of the used share of the cores' capacity."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class HardwareLoad(Answer):
    """The load of machines by counters of cycles, and by their operating systems in the same visits."""

    apu: Figure
    thread_any: Figure
    overlap: Annotated[Figure, Field(description="Core-time with both threads busy.")]
    utilisation: Annotated[
        Figure,
        Field(
            description="Utilisation of threads by cycles. If it is far from the utilisation by times, one of the two is "
            "wrong."
        ),
    ]
    system_apu: Annotated[
        Figure, Field(description="APU by the operating systems' times, in the visits with counters only.")
    ]
    system_overlap: Annotated[
        Figure, Field(description="Overlap if threads were busy independently of each other.")
    ]
    largest_disagreement: Annotated[
        float,
        Field(description="Largest difference between the two overlaps of one machine in one visit, 0…1."),
    ]


@dataclass(frozen=True, slots=True)
class ApuRow(Answer):
    """The load of the machines of one value, or the capacity that one application uses."""

    value: Annotated[str, Field(description="A value of the label, or the application.")]
    utilisation: Annotated[
        Figure | None,
        Field(
            description="Utilisation of logical CPUs, as monitoring shows it, 0…1. Null in rows of applications, like the "
            "next three fields."
        ),
    ]
    thread_any: Annotated[Figure | None, Field(description="Core-time in which any thread was busy.")]
    apu: Annotated[
        Figure | None,
        Field(
            description="Share of the cores' capacity that is used, by the operating systems' times. This assumes that "
            "threads are busy independently of each other."
        ),
    ]
    simplified: Annotated[Figure | None, Field(description="APU from the mean utilisation of each core.")]
    hardware: Annotated[
        HardwareLoad | None,
        Field(
            description="Figures by cycle counters, from the visits that have them. Null: no visit has them, or the row is "
            "an application."
        ),
    ]
    core_seconds: Annotated[
        float | None,
        Field(description="Capacity that the application uses, of the fleet in the covered time."),
    ]
    per_cpu_second: Annotated[
        Figure | None,
        Field(description="Core-seconds that the application uses per CPU second of accounted time."),
    ]
    hardware_per_cpu_second: Annotated[
        Figure | None,
        Field(
            description="The same by cycle counters, from `hardware_visits` visits. Null: no visit has them."
        ),
    ]
    low_confidence: bool
    visits: int
    hardware_visits: Annotated[
        int, Field(description="Number of `visits` with counters of threads and of cores.")
    ]
    machines: int | None


@dataclass(frozen=True, slots=True)
class Coefficient(Answer):
    """A calibrated figure of a platform."""

    platform: str
    workload: Annotated[str, Field(description="Empty: any application.")]
    value: float
    lo: float | None
    hi: float | None
    measured: Annotated[bool, Field(description="False: the coefficient is from the request.")]


@dataclass(frozen=True, slots=True)
class ApuAnswer(Answer):
    """Adjusted processor utilisation by counters and by operating systems, beside other measures of the same CPUs."""

    selection: MachineSelectionEcho
    by: str
    rows: tuple[ApuRow, ...]
    coefficients: Annotated[tuple[Coefficient, ...], Field(description="The overlap coefficients used.")]
    left_out: tuple[LeftOut, ...]
    hardware_used: Annotated[int, Field(description="Visits that also have an APU by counters.")]
    hardware_left_out: Annotated[
        tuple[LeftOut, ...],
        Field(description="Visits that have only an APU by the operating system, with the reason."),
    ]
    hardware_because: Annotated[
        Unavailable | None, Field(description="The reason why there is no APU by counters.")
    ]
    inputs: Inputs
    because: Unavailable | None
