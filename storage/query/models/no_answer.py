"""The inputs that every model reports with its answer: their amount, what is missing, and why."""

from dataclasses import dataclass

from storage.query.estimation.sampling_design import Coverage
from storage.query.observed.counters import Failure


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of an answer."""

    coverage: Coverage
    visits: int
    """Ingested visits of the selection; 0 if none was read because named experiments train the model."""
    used: int
    """Visits among them with what the model needs."""
    missing: tuple[Failure, ...] = ()
    """Counters without a value, with the cause."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The reason why there is no answer."""

    reason: str
    """One word for programs, as in `analysis.errors`."""
    detail: str
    """A sentence."""
