"""Which visits are made and which selections of them are asked: every window is one replication."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.coverage.fleet import PLANTED, Growth
from benchmarks.coverage.store import FIRST_DAY
from collector.draw import draw
from storage.query.selections.selection import Selection

if TYPE_CHECKING:
    from benchmarks.coverage.fleet import Fleet, Int, Seen

DAYS: Final = 4
"""Days with bursts of their own; campaign i is on day i mod DAYS."""
HOURS: Final = 20
"""Of a campaign, all in one UTC day."""
PER_HOUR: Final = 54.3
"""Drawn, of which 50 answer."""
ANSWERED_PER_HOUR: Final = 50
FACTOR: Final = 1.5
GROWN: Final = PLANTED[1]
"""What grows is a function of one percent."""


@dataclass(frozen=True)
class Window:
    """Some hours of a campaign."""

    campaign: int
    grown: bool
    first_hour: float
    hours: float

    @property
    def day(self) -> int:
        """Number of its day."""
        return self.campaign % DAYS

    @property
    def selection(self) -> Selection:
        """What is asked of the product; for all hours of a campaign the whole day, which has cells of its own."""
        start = start_of(self.campaign) + timedelta(hours=self.first_hour)
        asked = timedelta(days=1) if self.hours == HOURS else timedelta(hours=self.hours)
        return Selection(start, start + asked, campaign=name_of(self.campaign, grown=self.grown))


def name_of(campaign: int, *, grown: bool) -> str:
    """The campaign's name in the store."""
    return f"{'grown' if grown else 'plain'}-{campaign}"


def start_of(campaign: int) -> datetime:
    """Midnight of its day."""
    return datetime.combine(FIRST_DAY + timedelta(campaign % DAYS), time(), UTC)


def visits_of(fleet: Fleet, campaign: int, seed: int, *, grown: bool) -> list[Seen]:
    """What the campaign's visits of each hour meet; drawn as the collector draws."""
    random = np.random.default_rng([seed, campaign, grown])
    strata = {
        number: np.flatnonzero(fleet.stratum == number).tolist() for number in range(len(fleet.population))
    }
    growth = Growth(grown_functions(fleet, campaign), FACTOR) if grown else None
    hours = []
    for _ in range(HOURS):
        machine = np.array([choice.machine_id for choice in draw(strata, PER_HOUR, random)])
        hours.append(fleet.visit(machine, np.full(len(machine), campaign % DAYS), random, growth))
    return hours


def grown_functions(fleet: Fleet, campaign: int) -> Int:
    """One function on all machines, one on some, one on few."""
    functions, kinds = fleet.functions(GROWN), len(GROWN.spreads)
    return np.roll(functions, -kinds * campaign)[:kinds]


def windows(campaigns: int, visits: int) -> list[Window]:
    """All the windows with about so many answered visits."""
    hours = visits / ANSWERED_PER_HOUR
    return [
        Window(campaign, grown=False, first_hour=number * hours, hours=hours)
        for campaign in range(campaigns)
        for number in range(int(HOURS / hours))
    ]


def equal_pairs(campaigns: int, count: int) -> list[tuple[Window, Window]]:
    """Pairs of windows of 200 visits each, of one day and of different visits; at most `count`."""
    some = windows(campaigns, 200)
    return list(zip(some[::2], some[1::2], strict=False))[:count]


def canary_pairs(campaigns: int, count: int) -> list[tuple[Window, Window]]:
    """Pairs of a window of 1 000 visits and one of 30, of one day and of different campaigns."""
    few = 30 / ANSWERED_PER_HOUR
    pairs = [
        (
            Window(campaign, grown=False, first_hour=0, hours=HOURS),
            Window((campaign + DAYS) % campaigns, grown=False, first_hour=hour, hours=few),
        )
        for hour in range(HOURS)
        for campaign in range(campaigns)
    ]
    return pairs[:count]


def grown_pairs(campaigns: int, grown: int) -> list[tuple[Window, Window]]:
    """Pairs of 1 000 visits after and before some functions have grown, of one day."""
    return [
        (
            Window(campaign, grown=True, first_hour=0, hours=HOURS),
            Window((campaign + shift * DAYS) % campaigns, grown=False, first_hour=0, hours=HOURS),
        )
        for shift in range(2)
        for campaign in range(grown)
    ]
