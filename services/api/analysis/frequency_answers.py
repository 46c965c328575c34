"""Shared parts of answers about frequencies: parameters, the memory's frequency, and slowdowns."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from analysis.dvfs.memory import MemoryChange
from analysis.measured import Measured
from services.api.analysis.envelope import Figure, figure_document
from services.api.answer import Answer, Json
from storage.errors import BadSelection
from storage.query.models.frequency_options import Wanted, memory_change


class Memory(Answer):
    """Another memory frequency, and its assumed effect."""

    measured_mhz: float
    target_mhz: float
    part: float = Field(
        description="Share of the waiting time that is assumed to scale with the memory's clock."
    )
    waiting: float = Field(description="Factor of the waiting time.")


class Slowdown(Answer):
    """The slowdown at one frequency."""

    mhz: float
    slowdown: Figure | None = Field(description="Time ratio − 1; below 0 is faster.")
    naive: float = Field(description="The same if all time were on the chip: base ÷ frequency − 1.")
    at_memory: Figure | None = Field(
        description="The slowdown with the requested memory frequency, relative to the base with the measured one. "
        "Null: none was requested."
    )


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


def memory_document(change: MemoryChange | None) -> Json | None:
    """The requested change of the memory's frequency; None: none was requested."""
    if change is None:
        return None
    return {
        "measured_mhz": change.measured_hz / 1e6,
        "target_mhz": change.target_hz / 1e6,
        "part": change.part,
        "waiting": change.waiting,
    }


def slowdown_document(mhz: float, slowdown: Measured, naive: float, at_memory: Measured | None) -> Json:
    """One of a row's slowdowns."""
    return {
        "mhz": mhz,
        "slowdown": figure_document(slowdown),
        "naive": naive,
        "at_memory": figure_document(at_memory),
    }


def frequencies_of(text: str) -> tuple[float, ...]:
    """Frequencies in MHz, comma-separated. Raises `BadSelection`."""
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadSelection(
            f"{text[:80]!r} is not a list of frequencies.", hint="mhz=1200,2000", parameter="mhz"
        ) from error
