"""What can go wrong with experiments that a person brings, and who must act.

ServiceError
└── UnusableExperiments    user: the file says what cannot be kept; every fault has its line, its column and what to write
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.errors import ServiceError

_SHOWN = 5
"""Faults in a sentence; whoever mends these sees the others."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a file."""

    line: int
    """From 1, the heading among them; 0: the file as a whole."""
    column: str
    """As the heading has it; "": the line as a whole."""
    what: str
    """What is wrong, with the text that stands there."""
    instead: str
    """What to do."""

    def __str__(self) -> str:
        """A sentence or two for a person."""
        column = f"column {self.column}" if self.column else ""
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", column) if part)
        text = f"{where}: {self.what}" if where else self.what
        return f"{text[:1].upper()}{text[1:]}; {self.instead}."


class UnusableExperiments(ServiceError):
    """A file of experiments that cannot be kept. Nothing of it is."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """By line, at least one."""
        self.faults = tuple(faults)
        left = len(faults) - _SHOWN
        more = f" And {left:,} more." if left > 0 else ""
        super().__init__(" ".join(map(str, faults[:_SHOWN])) + more)
