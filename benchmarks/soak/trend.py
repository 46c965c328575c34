"""Whether a figure stays where it is: a line through its samples after warming up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

WARM_UP: Final = 1 / 3
"""Share of the time that caches may take to fill."""
MOST_WARM_UP: Final = 2 / 3
"""What is left must still show a trend."""
LEAST_SAMPLES: Final = 6
"""After warming up: a line through fewer says little, and of its error nothing."""
MOST_PER_HOUR: Final = 0.05
"""Growth by less than this share of the mean in an hour is flat."""
LEAST_MIB: Final = 2.0
"""Neither is less than this an hour a leak that anybody would find."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Of one part, in MiB."""

    start: float
    middle: float
    end: float
    per_hour: float
    """Slope after warming up."""
    error: float
    """Its standard error, samples taken for independent."""
    flat: bool | None
    """None: too few samples after warming up to tell."""


def trend(hours: Sequence[float], mib: Sequence[float], *, warm_from: float = 0.0) -> Trend:
    """The trend of samples at these times; at least four. Those before `warm_from` are warming up too.

    What grows does so by more than twice the slope's error above what is flat.
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
