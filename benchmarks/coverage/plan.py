"""The visits and the selections queried: every window is one replication."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.coverage.fleet import PLANTED, Growth
from benchmarks.coverage.store import FIRST_DAY
from collector.draw import draw
from storage.query.selections.selection import Selection

if TYPE_CHECKING:
    from benchmarks.coverage.fleet import Fleet, Int, Seen

DAYS: Final = 4
"""Days with independent bursts; campaign i is on day i mod DAYS."""
HOURS: Final = 20
"""Hours of a campaign, all in one UTC day."""
PER_HOUR: Final = 54.3
"""Visits drawn per hour, of which 50 succeed."""
ANSWERED_PER_HOUR: Final = 50
SPARSE: Final = 0.4
"""Factor on visits per hour and on load in the first half of a campaign that changes its pace."""
FACTOR: Final = 1.5
GROWN: Final = PLANTED[1]
"""The functions that grow have a share of one percent."""


class Kind(StrEnum):
    """Variation between the hours or the campaigns of a fleet."""

    PLAIN = "plain"
    GROWN = "grown"
    """Some functions take more than in the plain campaign of that day."""
    PACED = "paced"
    """The load and the number of visits change in the middle."""


@dataclass(frozen=True)
class Window:
    """Some hours of a campaign."""

    campaign: int
    kind: Kind
    first_hour: float
    hours: float

    @property
    def day(self) -> int:
        """Number of its day."""
        return self.campaign % DAYS

    @property
    def selection(self) -> Selection:
        """Selection of the window; for all hours of a campaign the whole day, which has its own cells."""
        start = start_of(self.campaign) + timedelta(hours=self.first_hour)
        asked = timedelta(days=1) if self.hours == HOURS else timedelta(hours=self.hours)
        return Selection(start, start + asked, campaign=name_of(self.campaign, self.kind))


def name_of(campaign: int, kind: Kind) -> str:
    """The campaign's name in the store."""
    return f"{kind}-{campaign}"


def busyness_of(kind: Kind) -> list[float]:
    """Load and visits of each hour of a campaign, relative to the usual ones."""
    return [SPARSE if kind == Kind.PACED and hour < HOURS // 2 else 1.0 for hour in range(HOURS)]


def start_of(campaign: int) -> datetime:
    """Midnight of its day."""
    return datetime.combine(FIRST_DAY + timedelta(campaign % DAYS), time(), UTC)


def visits_of(fleet: Fleet, campaign: int, seed: int, kind: Kind) -> list[Seen]:
    """Results of the campaign's visits for each hour, drawn like the collector draws."""
    random = np.random.default_rng([seed, campaign, list(Kind).index(kind)])
    strata = {
        number: np.flatnonzero(fleet.stratum == number).tolist() for number in range(len(fleet.population))
    }
    growth = Growth(grown_functions(fleet, campaign), FACTOR) if kind == Kind.GROWN else None
    hours = []
    for factor in busyness_of(kind):
        machine = np.array([choice.machine_id for choice in draw(strata, PER_HOUR * factor, random)])
        day = np.full(len(machine), campaign % DAYS)
        hours.append(fleet.visit(machine, day, random, grown=growth, load=factor))
    return hours


def grown_functions(fleet: Fleet, campaign: int) -> Int:
    """One function on all machines, one on some, one on few."""
    functions, kinds = fleet.functions(GROWN), len(GROWN.spreads)
    return np.roll(functions, -kinds * campaign)[:kinds]


def windows(campaigns: int, visits: int) -> list[Window]:
    """All windows with about this many successful visits."""
    hours = visits / ANSWERED_PER_HOUR
    return [
        Window(campaign, kind=Kind.PLAIN, first_hour=number * hours, hours=hours)
        for campaign in range(campaigns)
        for number in range(int(HOURS / hours))
    ]


def paced_windows(campaigns: int) -> list[Window]:
    """The whole days of campaigns whose pace changes."""
    return [Window(campaign, Kind.PACED, first_hour=0, hours=HOURS) for campaign in range(campaigns)]


def equal_pairs(campaigns: int, count: int) -> list[tuple[Window, Window]]:
    """Pairs of windows of 200 visits each, on one day with different visits; at most `count`."""
    some = windows(campaigns, 200)
    return list(zip(some[::2], some[1::2], strict=False))[:count]


def canary_pairs(campaigns: int, count: int) -> list[tuple[Window, Window]]:
    """Pairs of a window of 1 000 visits and one of 30, on one day in different campaigns."""
    few = 30 / ANSWERED_PER_HOUR
    pairs = [
        (
            Window(campaign, kind=Kind.PLAIN, first_hour=0, hours=HOURS),
            Window((campaign + DAYS) % campaigns, kind=Kind.PLAIN, first_hour=hour, hours=few),
        )
        for hour in range(HOURS)
        for campaign in range(campaigns)
    ]
    return pairs[:count]


def grown_pairs(campaigns: int, grown: int) -> list[tuple[Window, Window]]:
    """Pairs of 1 000 visits after and before some functions grew, on one day."""
    return [
        (
            Window(campaign, kind=Kind.GROWN, first_hour=0, hours=HOURS),
            Window((campaign + shift * DAYS) % campaigns, kind=Kind.PLAIN, first_hour=0, hours=HOURS),
        )
        for shift in range(2)
        for campaign in range(grown)
    ]
