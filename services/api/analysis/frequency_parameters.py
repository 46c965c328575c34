"""Parameters of routes about frequencies."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query

from storage.errors import BadSelection
from storage.query.models.frequency_options import Wanted, memory_change


@dataclass(frozen=True, slots=True)
class FrequencyParameters:
    """The common parameters of questions about frequencies, as the caller wrote them."""

    base_mhz: float | None = None
    mhz: str = ""
    performance: float = 0.9
    memory_mhz: float | None = None
    memory_target_mhz: float | None = None
    memory_part: float = 1.0

    @property
    def of_cores(self) -> Wanted:
        """The question without the memory's frequency. Raises `BadSelection`."""
        return Wanted(self.base_mhz, frequencies_of(self.mhz), self.performance)

    @property
    def wanted(self) -> Wanted:
        """The whole question. Raises `BadSelection`."""
        memory = memory_change(self.memory_mhz, self.memory_target_mhz, self.memory_part)
        return replace(self.of_cores, memory=memory)


async def frequency_parameters(
    *,
    base_mhz: Annotated[
        float | None,
        Query(
            ge=1,
            le=100_000,
            description="Frequency that slowdowns are relative to. Default: the mean of the observed frequencies, and "
            "for timed runs the highest.",
        ),
    ] = None,
    mhz: Annotated[
        str,
        Query(
            max_length=500,
            description="Frequencies, comma-separated. Empty: from the base to half of it.",
            examples=["2000,1600"],
        ),
    ] = "",
    performance: Annotated[
        float, Query(gt=0, le=1, description="Share of the performance at the base frequency to keep.")
    ] = 0.9,
    memory_mhz: Annotated[
        float | None,
        Query(ge=1, le=100_000, description="Frequency of the memory during the measurement."),
    ] = None,
    memory_target_mhz: Annotated[
        float | None,
        Query(
            ge=1,
            le=100_000,
            description="Another memory frequency to predict for, besides memory_mhz.",
        ),
    ] = None,
    memory_part: Annotated[
        float,
        Query(
            ge=0,
            le=1,
            description="Share of the waiting time that scales with the memory's clock. 1 is the most that latency can "
            "change.",
        ),
    ] = 1.0,
) -> FrequencyParameters:
    """The parameters of a request."""
    return FrequencyParameters(base_mhz, mhz, performance, memory_mhz, memory_target_mhz, memory_part)


Frequencies = Annotated[FrequencyParameters, Depends(frequency_parameters)]
"""The parameters of every route about frequencies."""


def frequencies_of(text: str) -> tuple[float, ...]:
    """Frequencies in MHz, comma-separated. Raises `BadSelection`."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadSelection(
            f"{text[:80]!r} is not a list of frequencies.", hint="mhz=1200,2000", parameter="mhz"
        ) from error
