"""What a collector tells whoever watches it, in the order it happens.

A watcher is a plain function; it is called from the collector's event loop and must return at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from collector.visit import Visited


@dataclass(frozen=True, slots=True)
class RoundDrawn:
    """A round was drawn and written down."""

    campaign: str
    number: int
    visits: int


@dataclass(frozen=True, slots=True)
class VisitEnded:
    """A machine was called, and the outcome is in the database."""

    campaign: str
    machine: str
    visited: Visited


@dataclass(frozen=True, slots=True)
class CampaignStopped:
    """The brake stopped a campaign."""

    campaign: str
    why: str


Event = RoundDrawn | VisitEnded | CampaignStopped
Watcher = Callable[[Event], None]


def nobody(_event: Event) -> None:
    """A watcher that does not look."""
