"""Errors of uploaded experiments, and who must act.

ServiceError
└── UnusableExperiments    user: the file cannot be stored; every fault has its line, its column and what to write
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.errors import ServiceError

_SHOWN = 5
"""Faults in a message; a corrected file reveals the others."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a file."""

    line: int
    """From 1, the heading included; 0: the file as a whole."""
    column: str
    """The name in the heading; "": the line as a whole."""
    what: str
    """What is wrong, with the text of the field."""
    instead: str
    """What to write instead."""

    def __str__(self) -> str:
        """One or two sentences for a person."""
        column = f"column {self.column}" if self.column else ""
        where = ", ".join(part for part in (f"line {self.line}" if self.line else "", column) if part)
        text = f"{where}: {self.what}" if where else self.what
        return f"{text[:1].upper()}{text[1:]}; {self.instead}."


class UnusableExperiments(ServiceError):
    """A file of experiments that cannot be stored. No part of it is."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """At least one fault, sorted by line."""
        self.faults = tuple(faults)
        left = len(faults) - _SHOWN
        more = f" And {left:,} more." if left > 0 else ""
        super().__init__(" ".join(map(str, faults[:_SHOWN])) + more)
