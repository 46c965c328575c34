"""Where the time of an answer went, as the header `Server-Timing` (W3C Server Timing)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from storage.snapshots.query_budget import Budget

HEADER = "Server-Timing"


@dataclass(slots=True)
class Timing:
    """Seconds of one answer, recorded as they pass; browsers show them beside the request."""

    budget: Budget
    """The budget of the answer's query, which measures the time that it ran and waited for the database."""
    begun: float
    """By `perf_counter`: when the request was parsed."""
    waited_s: float = 0.0
    """For one of the threads that run queries."""
    written_s: float = 0.0
    """From a query's beginning until the answer's bytes existed."""
    packed_s: float = 0.0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Measures the query and the encoding of its answer inside the context."""
        begun = perf_counter()
        self.waited_s = begun - self.begun
        yield
        self.written_s = perf_counter() - begun

    @contextmanager
    def packing(self) -> Iterator[None]:
        """Measures the compression of the answer inside the context."""
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
