"""Slowdowns from pairs of adjacent slices.

Other load on the machine varies over seconds, so two slices a fifth of a second apart meet about the same load. The
remainder widens the interval but does not increase the figure. A trimmed mean is used because a neighbour's burst hits
one slice of a pair and would dominate a plain mean (Yuen, Biometrika 61 (1974): trimmed mean, winsorized standard
error, t with h − 1 degrees of freedom).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIM: Final = 0.2
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Share of its throughput that a program loses: estimate, one-sided 95 % limits, half the quartile range."""

    value: float
    lower: float
    upper: float
    spread: float
    """Spread of single pairs, caused by other work on the machine."""
    pairs: int


def slowdown(without: Sequence[float], with_: Sequence[float]) -> Slowdown:
    """The loss from paired throughputs, all > 0. Raises ValueError for fewer than five pairs."""
    if len(without) != len(with_) or len(without) < 5:
        raise ValueError("a slowdown needs five pairs of slices or more")
    logs = np.sort(np.log(np.asarray(without, np.float64)) - np.log(np.asarray(with_, np.float64)))
    cut = int(TRIM * len(logs))
    kept = len(logs) - 2 * cut
    middle = float(logs[cut : cut + kept].mean())
    winsorized = np.clip(logs, logs[cut], logs[cut + kept - 1])
    # Yuen: the winsorized sum of squares over h·(h − 1), with h the number of values kept.
    error = math.sqrt(float(((winsorized - winsorized.mean()) ** 2).sum()) / (kept * (kept - 1)))
    reach = float(stats.t.ppf(LEVEL, kept - 1)) * error
    low, high = (float(value) for value in np.quantile(logs, (0.25, 0.75)))
    return Slowdown(
        value=-math.expm1(-middle),
        lower=-math.expm1(-(middle - reach)),
        upper=-math.expm1(-(middle + reach)),
        spread=(high - low) / 2,
        pairs=len(logs),
    )
