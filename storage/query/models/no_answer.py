"""What every model says beside its answer: how much it is made of, what is missing, and why."""

from dataclasses import dataclass

from storage.query.estimation.sampling_design import Coverage
from storage.query.observed.counters import Failure


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an answer is made of."""

    coverage: Coverage
    visits: int
    """Ingested visits of the selection; 0 where none was looked at, since named experiments train the model."""
    used: int
    """Of those, with what the model needs."""
    missing: tuple[Failure, ...] = ()
    """Counters without a value, and why."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is no answer."""

    reason: str
    """One word for programs, as of `analysis.errors`."""
    detail: str
    """A sentence."""
