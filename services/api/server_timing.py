"""Where the time of an answer went, as its header `Server-Timing` says it (W3C Server Timing)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from storage.snapshots.query_budget import Budget

HEADER = "Server-Timing"


@dataclass(slots=True)
class Timing:
    """Seconds of one answer, noted as they pass; browsers show them beside the request."""

    budget: Budget
    """Of the answer's question, which knows how long that ran and waited for the database."""
    begun: float
    """By `perf_counter`: when the request was understood."""
    waited_s: float = 0.0
    """For one of the threads that questions run in."""
    written_s: float = 0.0
    """From a question's beginning until the answer's bytes were there."""
    packed_s: float = 0.0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The question is asked and its answer written inside."""
        begun = perf_counter()
        self.waited_s = begun - self.begun
        yield
        self.written_s = perf_counter() - begun

    @contextmanager
    def packing(self) -> Iterator[None]:
        """The answer is compressed inside."""
        begun = perf_counter()
        yield
        self.packed_s = perf_counter() - begun

    @property
    def header(self) -> str:
        """`wait`, `database`, `reckoning`, `writing` and `packing`, each with its milliseconds."""
        budget = self.budget
        parts = {
            "wait": self.waited_s,
            "database": budget.database_s,
            "reckoning": budget.asked_s - budget.database_s,
            "writing": self.written_s - budget.asked_s,
            "packing": self.packed_s,
        }
        return ", ".join(f"{name};dur={max(seconds, 0.0) * 1e3:.1f}" for name, seconds in parts.items())
