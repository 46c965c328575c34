"""The source of a target's degradation: the fleet's visits or experiments, never both at once.

Their measures differ: experiments may count other lines, and their work alone is not that of production. So one source
trains all models of an answer, and the answer names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from analysis.interference.colocation import Training
from analysis.interference.target import Target
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.answers.interference import Chip, Source


@dataclass(frozen=True, slots=True)
class TrainedTarget:
    """A target's model and its training data."""

    model: Target
    training: Training


@dataclass(frozen=True, slots=True)
class Known:
    """An application with known pressure."""

    lines_per_cpu_s: float
    """Millions."""
    gigabytes_per_cpu_s: float
    cpi: float | None
    """Cycles per instruction alone; None: experiments measured only its time or its pressure."""
    time_s: float | None = None
    """Time alone, in experiments that measured time."""
    cores: float = 1.0
    """Cores that it keeps busy in a mix that does not specify it: in experiments as many as in its run alone."""
    visits: int = 0
    """Visits in which it had a chip to itself."""
    runs: int = 0
    """Runs alone in experiments."""


class Ground(Protocol):
    """Visits or experiments of one platform."""

    @property
    def experiments(self) -> str:
        """Name of the set; "": the fleet's visits."""

    @property
    def platform(self) -> str:
        """Platform of the chips; "": there is no data."""

    @property
    def lines(self) -> str:
        """The counter used for lines brought into the cache; "": the one that the experiments counted."""

    @property
    def peak_gbs(self) -> float:
        """Peak bandwidth of a chip's memory; NaN: unknown."""

    @property
    def peak_is_seen(self) -> bool:
        """The peak is the largest bandwidth of a visit, since it was neither given nor calibrated."""

    @property
    def known(self) -> Mapping[str, Known]:
        """Applications with known pressure, by name."""

    @property
    def inputs(self) -> Inputs:
        """The visits read."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """Unusable visits, by cause."""

    def trained(self, application: str) -> tuple[TrainedTarget | None, Unavailable | None]:
        """The model of an application, or the reason why there is none."""

    def why_unknown(self) -> str:
        """The reason why an application is not among the known ones, as text to follow its name."""


def source_of(ground: Ground, models: Mapping[str, TrainedTarget], instead_of: Unavailable | None) -> Source:
    """The source of these models."""
    trained = sum(found.model.observations for found in models.values())
    if ground.experiments:
        return Source("experiments", ground.experiments, visits=0, runs=trained, instead_of_visits=instead_of)
    return Source("visits", None, visits=trained, runs=0, instead_of_visits=None)


def chip_of(ground: Ground) -> Chip:
    """The chips of the data."""
    peak = ground.peak_gbs if isfinite(ground.peak_gbs) else None
    return Chip(ground.platform, ground.lines, peak, ground.peak_is_seen)
