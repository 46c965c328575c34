"""Whether a figure stays constant: a line through its samples after warming up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

WARM_UP: Final = 1 / 3
"""Share of the time in which caches may fill."""
MOST_WARM_UP: Final = 2 / 3
"""Upper limit of the warm-up; the rest must suffice to show a trend."""
LEAST_SAMPLES: Final = 6
"""Least number of samples after warming up: with fewer, slope and error are meaningless."""
MOST_PER_HOUR: Final = 0.05
"""Growth below this share of the mean per hour counts as flat."""
LEAST_MIB: Final = 2.0
"""Growth below this per hour also counts as flat."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Trend of one part, in MiB."""

    start: float
    middle: float
    end: float
    per_hour: float
    """Slope after warming up."""
    error: float
    """Its standard error, assuming independent samples."""
    flat: bool | None
    """None: too few samples after warming up."""


def trend(hours: Sequence[float], mib: Sequence[float], *, warm_from: float = 0.0) -> Trend:
    """The trend of at least four samples at these times; those before `warm_from` also count as warm-up.

    A figure grows if its slope exceeds the flat limit by more than twice the slope's error.
    """
    x, y = np.array(hours), np.array(mib)
    least, most = (x[0] + share * (x[-1] - x[0]) for share in (WARM_UP, MOST_WARM_UP))
    warm = x >= min(max(least, warm_from), most)
    t, values = x[warm] - x[warm].mean(), y[warm]
    slope = float((t @ values) / (t @ t))
    rest = values - values.mean() - slope * t
    error = float(np.sqrt((rest @ rest) / max(len(t) - 2, 1) / (t @ t)))
    flat = None
    if len(t) >= LEAST_SAMPLES:
        flat = slope - 2 * error <= max(MOST_PER_HOUR * float(values.mean()), LEAST_MIB)
    return Trend(float(y[0]), float(y[len(y) // 2]), float(y[-1]), slope, error, flat)
