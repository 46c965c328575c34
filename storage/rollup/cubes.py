"""Cubes: the fixed sets of labels that facts are merged by.

A cube answers every query that groups by no other label. Cube ids and the order of keys are stored with every cell and
never change.
"""

from dataclasses import dataclass
from datetime import date

HOUR, DAY = -1, 0
"""Levels of table `rollup`; `bucket` then counts hours or days since 1970 UTC. A day has cells of its own once its
daily rollup is written (`daily`); before that, only the cells of its hours exist."""
WEIGHTED_LEVELS = (1, 2, 3)
"""Levels of table `rollup_long`: buckets of 4, 16 and 64 days, aligned to 1970."""
HOURS_KEPT_DAYS = 35
"""Retention of hour cells. Day cells hold the same sums for older whole days."""
HOURS_A_DAY = 24


@dataclass(frozen=True, slots=True)
class Cube:
    """One set of keys."""

    id: int
    keys: tuple[str, ...]
    """Columns of `profile` that fill the cells' `k1` and `k2`; an unused key column is 0."""
    weighted_levels: tuple[int, ...]
    """Levels of `rollup_long` that are written for this cube where they merge rows."""


EVENT = Cube(1, (), WEIGHTED_LEVELS)
APPLICATION = Cube(2, ("application",), WEIGHTED_LEVELS[1:])
"""A week of one application takes no more CPU time from its days than from buckets of four days, which were half of the
bytes stored. A quarter takes seven times as long without the buckets of 16 and 64 days."""
CUBES = (EVENT, APPLICATION)


@dataclass(frozen=True, slots=True)
class Source:
    """Identifies cells that may be added to each other: cube, campaign, depth and sample type."""

    cube: Cube
    campaign_id: int
    stacks: bool
    sample_type_id: int


def bucket_days(level: int) -> int:
    """Days in a bucket of a weighted level, 4, 16 or 64; 1 for `DAY`."""
    return int(4**level)


def day_number(day: date) -> int:
    """Days since 1970."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    """The inverse of `day_number`."""
    return date.fromordinal(number + _EPOCH)


_EPOCH = date(1970, 1, 1).toordinal()
