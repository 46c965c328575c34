"""The answer of two machine types compared by price and capacity."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.apu import Coefficient
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Because, Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho

Advised = Literal["old", "new", "unclear"]
"""The machine type that costs less for the same work."""


@dataclass(frozen=True, slots=True)
class ServedAnswer(Answer):
    """The requests that one machine serves at the compared load, by one measure of load."""

    rate: Annotated[
        Figure | None, Field(description="Requests per second. Null: `because` gives the reason.")
    ]
    price: Annotated[Figure | None, Field(description="Price of a machine per request per second.")]
    observations: Annotated[int | None, Field(description="Steps with a rate and a load.")]
    reach: Annotated[
        float | None,
        Field(description="Largest observed rate ÷ rate: the further from 1, the longer the extrapolation."),
    ]
    curved: Annotated[bool | None, Field(description="The points bend, so the rate is not reliable.")]
    because: Unavailable | None


@dataclass(frozen=True, slots=True)
class TypeRow(Answer):
    """One of the two machine types."""

    platform: str
    price: float
    utilisation: Annotated[
        Figure | None, Field(description="Utilisation of logical CPUs, 0…1. Null: no visit has an APU.")
    ]
    apu: Annotated[Figure | None, Field(description="APU by `apu_basis`.")]
    low_confidence: bool
    visits: int
    machines: Annotated[int | None, Field(description="Machines with visits that have an APU.")]
    by_utilisation: Annotated[
        ServedAnswer | None, Field(description="Null without request rates, like the next field.")
    ]
    by_apu: ServedAnswer | None


@dataclass(frozen=True, slots=True)
class MachineTypesAnswer(Answer):
    """Two machine types, under equal traffic for each machine, or at equal load by their request rates."""

    selection: MachineSelectionEcho
    basis: Annotated[
        Literal["equal_traffic", "request_rates"],
        Field(
            description="equal_traffic: both types are assumed to get equally many requests per machine. request_rates: "
            "both are compared at the load `full`, regardless of their traffic."
        ),
    ]
    full: Annotated[
        float | None, Field(description="Load at which the types are compared. Null without request rates.")
    ]
    step_seconds: Annotated[
        int | None, Field(description="Length of the intervals of mean rates and loads. Null without rates.")
    ]
    apu_basis: Annotated[
        Literal["counters", "operating_system"] | None,
        Field(
            description="Source of APU, the same for both types. counters: cycle counters, if both types have them in nine "
            "of ten visits. operating_system: times of logical CPUs, with threads assumed to be busy "
            "independently of each other. Null: no APU is given."
        ),
    ]
    price_ratio: Annotated[float | None, Field(description="new ÷ old. Null: `because` gives the reason.")]
    utilisation_ratio: Annotated[
        Figure | None,
        Field(
            description="Machines of the old type that one of the new replaces, by utilisation: by loads under equal "
            "traffic, or by requests at equal load. Null, like the next fields: `because` or "
            "`utilisation_because` gives the reason."
        ),
    ]
    apu_ratio: Annotated[Figure | None, Field(description="The same by APU.")]
    by_utilisation: Annotated[
        Advised | None,
        Field(
            description="The type that costs less for the same work. unclear: the interval contains the ratio of prices."
        ),
    ]
    by_apu: Advised | None
    stress_test: Annotated[
        bool | None,
        Field(
            description="A stress test must decide: the two disagree, APU itself is unclear, or load is not a line of the "
            "rate."
        ),
    ]
    utilisation_because: Annotated[
        Unavailable | None,
        Field(description="The reason why utilisation gives no answer, with request rates."),
    ]
    apu_because: Unavailable | None
    rows: Annotated[
        tuple[TypeRow, ...], Field(description="The old type, then the new one, if they have visits.")
    ]
    coefficients: Annotated[tuple[Coefficient, ...], Field(description="The overlap coefficients used.")]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Because
