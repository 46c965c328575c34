"""What a collector tells whoever watches it, in the order it happens.

A watcher is a plain function; it is called from the collector's event loop, or from a thread of its executor, and must
return at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from collector.visit import VisitResult


@dataclass(frozen=True, slots=True)
class RoundDrawn:
    """A round was drawn and written down."""

    campaign: str
    number: int
    visits: int
    late_s: float = 0.0
    """How long after the round's beginning."""


@dataclass(frozen=True, slots=True)
class VisitEnded:
    """A machine was called, and the outcome is in the database."""

    campaign: str
    machine: str
    visited: VisitResult
    late_s: float = 0.0
    """How long after the moment it was drawn for the machine was called."""


@dataclass(frozen=True, slots=True)
class VisitsCalledOff:
    """Visits that were drawn and not made."""

    visits: int


@dataclass(frozen=True, slots=True)
class CampaignStopped:
    """The brake stopped a campaign."""

    campaign: str
    why: str


@dataclass(frozen=True, slots=True)
class JobDone:
    """One of the things that are done again and again was done."""

    job_name: str
    """One of `JOBS`."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found of collectors that had ended."""

    adopted: int
    """Captures in the archive whose row was missing."""
    lost: int
    """Visits that nobody could still be making."""


@dataclass(frozen=True, slots=True)
class ServerAway:
    """A use of a server failed; it is tried again."""

    server: str
    """database or broker."""


@dataclass(frozen=True, slots=True)
class LakeMaintained:
    """Where a round of the lake is, or how it ended."""

    due: int
    """Days still to be exported, those too that wait for captures to ingest."""
    kept: int
    """Days that are not replaced, because the lake has more of them than the database."""
    whole: bool
    """The round is over, and nothing failed."""


JOBS = ("draw", "describe", "sweep", "merge", "tidy", "ask", "lake")
Event = (
    RoundDrawn
    | VisitEnded
    | VisitsCalledOff
    | CampaignStopped
    | JobDone
    | Swept
    | ServerAway
    | LakeMaintained
)
Watcher = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """A watcher that does not look."""
