"""Divides a time range into steps of common lengths: whole minutes, hours, days and weeks of UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

import numpy as np

from storage.arrays import Float, Int64
from storage.errors import BadSelection
from storage.query.selections.selection import Selection

MOST_POINTS = 1_000
DAY_S = 86_400
_LADDER = (
    *(60, 120, 300, 600, 900, 1_800),
    *(3_600, 2 * 3_600, 3 * 3_600, 4 * 3_600, 6 * 3_600, 12 * 3_600),
    *(DAY_S, 2 * DAY_S, 7 * DAY_S, 14 * DAY_S, 28 * DAY_S),
)
_MONDAY_S = 4 * DAY_S
"""1970-01-05, a Monday: the origin of weeks and other steps of several days."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_S = -62_135_596_800
"""0001-01-01."""
_LAST_S = 253_402_300_799
"""9999-12-31, the last second."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Consecutive steps that cover a selection."""

    step_s: int
    first_s: int
    """Seconds since 1970 at which the first step begins; it may be before the selection."""
    count: int

    @property
    def starts(self) -> Float:
        """Start of each step."""
        return self.first_s + self.step_s * np.arange(self.count, dtype=np.float64)

    @property
    def ends(self) -> Float:
        """End of each step, exclusive."""
        return self.starts + self.step_s

    def of(self, moments: Float) -> Int64:
        """The step of each moment of the selection."""
        return np.asarray((moments - self.first_s) // self.step_s, np.int64)

    def time(self, number: int) -> datetime:
        """Start of a step; for `count` the end of the last. Clamped to the first and last second of a datetime."""
        seconds = min(max(self.first_s + self.step_s * number, _FIRST_S), _LAST_S)
        return _EPOCH + timedelta(seconds=seconds)


def steps(selection: Selection, most: int, step_s: int = 0) -> Steps:
    """Steps of `step_s` seconds; for 0, steps of the shortest common length that gives at most `most`.

    Steps begin at multiples of their length: of UTC days, or, if longer than a day, of weeks that begin on Monday. The
    first and the last may extend beyond the selection. Raises `BadSelection` for more than `MOST_POINTS` steps.
    """
    start, end = selection.start.timestamp(), selection.end.timestamp()
    if step_s:
        found = _of(start, end, step_s)
        if found.count > MOST_POINTS:
            raise BadSelection(
                f"Steps of {step_s} s give {found.count:,} points in this time range; the limit is "
                f"{MOST_POINTS:,}.",
                hint="Choose longer steps, or a shorter time range.",
                parameter="step",
            )
        return found
    for rung in _LADDER:
        found = _of(start, end, rung)
        if found.count <= most:
            return found
    # However long the steps are, a selection with a boundary inside has two.
    weeks = ceil((end - start) / (max(most - 1, 1) * 28 * DAY_S))
    while (found := _of(start, end, weeks * 28 * DAY_S)).count > max(most, 2):
        weeks += 1
    return found


def _of(start: float, end: float, step_s: int) -> Steps:
    origin = _MONDAY_S if step_s > DAY_S else 0
    first = origin + int((start - origin) // step_s) * step_s
    return Steps(step_s, first, ceil((end - first) / step_s))
