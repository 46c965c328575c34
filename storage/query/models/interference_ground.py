"""What a target's degradation is learned from: the fleet's visits, or experiments; never both at once.

The two are not of one measure: experiments may count other lines, and a value alone there is of other work than in production. So
one of them trains all that an answer speaks of, and the answer says which.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from analysis.interference.colocation import Training
from analysis.interference.target import Target
from storage.query.models.no_answer import Inputs, Unavailable


@dataclass(frozen=True, slots=True)
class TrainedTarget:
    """A target's model and what it was made of."""

    model: Target
    training: Training


@dataclass(frozen=True, slots=True)
class Known:
    """An application whose pressure is known."""

    lines_per_cpu_s: float
    """Millions."""
    gigabytes_per_cpu_s: float
    cpi: float | None
    """Cycles per instruction alone; None: experiments measured its time, or its pressure only."""
    time_s: float | None = None
    """Alone, in experiments that measured time."""
    cores: float = 1.0
    """That it keeps busy in a mix where nobody says: in experiments as many as in its run alone."""
    visits: int = 0
    """In which it had a chip to itself."""
    runs: int = 0
    """Of experiments, alone."""


class Ground(Protocol):
    """Visits or experiments of one platform."""

    @property
    def experiments(self) -> str:
        """The name of the set; "": the fleet's visits."""

    @property
    def platform(self) -> str:
        """Whose chips; "": there is nothing."""

    @property
    def lines(self) -> str:
        """The counter that stands for lines brought into the cache; "": whichever the experiments counted."""

    @property
    def peak_gbs(self) -> float:
        """Of a chip's memory; NaN: nobody knows it."""

    @property
    def peak_is_seen(self) -> bool:
        """It is the most that a visit saw, as nobody has measured or given it."""

    @property
    def known(self) -> Mapping[str, Known]:
        """Applications whose pressure is known, by name."""

    @property
    def inputs(self) -> Inputs:
        """The visits that were looked at."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """Visits that say nothing of it, by why."""

    def trained(self, application: str) -> tuple[TrainedTarget | None, Unavailable | None]:
        """The model of an application, or why there is none."""

    def stranger(self) -> str:
        """Why an application is not among those that are known, to stand behind its name."""


@dataclass(frozen=True, slots=True)
class Source:
    """What trained the models of an answer."""

    experiments: str = ""
    """The set's name; "": the fleet's visits."""
    visits: int = 0
    """Beside others, that trained them; one that shows two of the targets counts twice."""
    runs: int = 0
    """Of experiments beside others, likewise."""
    instead_of: Unavailable | None = None
    """Why the fleet's visits did not, where experiments did that nobody had named."""


def source_of(ground: Ground, models: Mapping[str, TrainedTarget], instead_of: Unavailable | None) -> Source:
    """The source of these models."""
    trained = sum(found.model.observations for found in models.values())
    if ground.experiments:
        return Source(ground.experiments, runs=trained, instead_of=instead_of)
    return Source(visits=trained)
