"""Which keys are merged ahead. A cube is a fixed set of labels; its cells answer what asks for no other.

Ids and the order of keys are stored with every cell and never change.
"""

from dataclasses import dataclass
from datetime import date

HOUR, DAY = -1, 0
"""Levels of table `rollup`; a bucket is then a number of hours or days since 1970 UTC. A day has cells of its
own once it has a daily rollup (`fold`); before, those of its hours are all there is."""
WEIGHTED_LEVELS = (1, 2, 3)
"""Levels of table `rollup_long`: 4, 16 and 64 days, aligned to 1970."""
HOURS_KEPT_DAYS = 35
"""Cells of hours are kept this long; day cells say the same of whole days afterwards."""
HOURS_A_DAY = 24


@dataclass(frozen=True, slots=True)
class Cube:
    """One set of keys."""

    id: int
    keys: tuple[str, ...]
    """Columns of `profile` that are the cells' `k1` and `k2`; without one it is 0."""
    weighted_levels: tuple[int, ...]
    """Levels of `rollup_long` that it has where they merge."""


EVENT = Cube(1, (), WEIGHTED_LEVELS)
APPLICATION = Cube(2, ("application",), WEIGHTED_LEVELS[1:])
"""A week of one application is answered from its days in no more CPU time than from buckets of four, which were half of the
store's bytes; a quarter takes seven times as long without those of 16 and 64."""
CUBES = (EVENT, APPLICATION)


@dataclass(frozen=True, slots=True)
class Source:
    """Whose cells: those of one cube that may be added to one another."""

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
