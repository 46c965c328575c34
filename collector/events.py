"""Events that a collector passes to its watcher, in the order they happen.

A watcher is a plain function. It is called from the collector's event loop, or from a thread of its executor, and must
return at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from collector.visit import VisitResult


@dataclass(frozen=True, slots=True)
class RoundDrawn:
    """A round was drawn and recorded."""

    campaign: str
    number: int
    visits: int
    late_s: float = 0.0
    """Delay after the round's beginning."""


@dataclass(frozen=True, slots=True)
class VisitEnded:
    """A visit has ended, and its outcome is in the database."""

    campaign: str
    machine: str
    visited: VisitResult
    late_s: float = 0.0
    """Delay of the call after the moment for which the visit was drawn."""


@dataclass(frozen=True, slots=True)
class VisitsCalledOff:
    """Drawn visits were not made."""

    visits: int


@dataclass(frozen=True, slots=True)
class CampaignStopped:
    """The brake stopped a campaign."""

    campaign: str
    why: str


@dataclass(frozen=True, slots=True)
class JobDone:
    """One run of a periodic job has ended."""

    job_name: str
    """One of `JOBS`."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweep looked for visits of collectors that had ended."""

    adopted: int
    """Captures in the archive whose row was missing."""
    lost: int
    """Visits that no collector can still be making."""


@dataclass(frozen=True, slots=True)
class ServerAway:
    """A use of a server failed; it is tried again."""

    server: str
    """database or broker."""


@dataclass(frozen=True, slots=True)
class LakeMaintained:
    """Progress or end of a run of the lake job."""

    due: int
    """Days still to be exported, including those with captures that are not ingested yet."""
    kept: int
    """Days that are not replaced, because the lake has more of them than the database."""
    whole: bool
    """The run is over, and nothing failed."""


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
    """A watcher that ignores every event."""
