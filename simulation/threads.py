"""Distribution of a machine's busy time over the threads of its cores, and the cost of overlap (DIGEST A1-A3).

A window's busy share b is spread over the C cores of a machine by fixed quantiles: core c, thread t is busy for

    min(1, h · e^(0.5·z + 0.2·y)),    z and -y or y of the quantiles of a normal distribution,

with h such that the mean is b. The window's state thus follows from b alone, whichever core has which part, and the
true value over a time range is an expectation over b. Both threads of a core are busy for u0·u1 of the time if they are
busy independently of each other. If the kernel keeps them apart, the overlap is four fifths of the way to the minimum:

    u0·u1 - 0.8 · (u0·u1 - max(0, u0 + u1 - 1)).

A thread does 1/OC of its work per time while the other one is busy too; OC is the platform's.
"""

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from simulation.seeded_random import Floats

APART: Final = 0.8
"""Part of the way from independent threads to minimum overlap."""
_UNEVENNESS: Final = 0.5
_BETWEEN_THREADS: Final = 0.2
_GRID: Final = 1025


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores of a machine, and how its kernel fills their threads."""

    cores: int
    threads: int
    """Threads of a core: 1 or 2."""
    apart: bool
    """The kernel keeps work off the second thread of a core as long as possible."""

    def shares(self, busy: npt.ArrayLike) -> Floats:
        """Busy share of each thread if a machine's mean is `busy` (…); (…, threads, cores)."""
        spread, means, scales = _spread(self.cores, self.threads)
        scale = np.interp(np.asarray(busy, np.float64), means, scales)
        return np.asarray(np.minimum(1.0, scale[..., None, None] * spread))

    def overlap(self, busy: npt.ArrayLike) -> Floats:
        """Share of core-time with both threads busy; as `busy`."""
        return np.asarray(self.overlap_of(self.shares(busy)).mean(axis=-1))

    def overlap_of(self, shares: Floats) -> Floats:
        """Overlap of each core, from the busy shares of its threads."""
        if self.threads == 1:
            return np.zeros_like(shares[..., 0, :])
        first, second = shares[..., 0, :], shares[..., 1, :]
        independent = first * second
        least = np.maximum(0.0, first + second - 1.0)
        return np.asarray(independent - (APART if self.apart else 0.0) * (independent - least))

    def speed(self, busy: npt.ArrayLike, coefficient: float) -> Floats:
        """Work of a busy thread-second relative to one with the other thread idle; 1/OC … 1, as `busy`."""
        of = np.maximum(np.asarray(busy, np.float64), 1e-9)
        together = np.interp(of, *_overlaps(self)) / of
        return np.asarray(1.0 - np.minimum(together, 1.0) * (1.0 - 1.0 / coefficient))


@lru_cache(maxsize=64)
def _spread(cores: int, threads: int) -> tuple[Floats, Floats, Floats]:
    """Weights of the threads (threads, cores), and the scale factors on them by the resulting mean."""
    quantile = NormalDist()
    normal = np.array([quantile.inv_cdf((core + 0.5) / cores) for core in range(cores)])
    # Another order of the same quantiles, so that the threads of a core differ independently of its load.
    step = next(n for n in range(max(1, round(0.618 * cores)), cores + 2) if np.gcd(n, cores) == 1)
    other = normal[np.arange(cores) * step % cores]
    sides = np.array([[1.0], [-1.0]])[:threads] * (threads - 1)
    spread = np.exp(_UNEVENNESS * normal + _BETWEEN_THREADS * sides * other)
    falling = np.sort(spread.ravel())[::-1]
    # With the k largest just full, the others are proportional; between such points the mean is linear.
    scales = 1.0 / falling
    full = np.arange(1, len(falling) + 1)
    rest = falling.sum() - np.cumsum(falling)
    means = (full + scales * rest) / len(falling)
    return spread, np.concatenate([[0.0], means]), np.concatenate([[0.0], scales])


@lru_cache(maxsize=64)
def _overlaps(cores: Cores) -> tuple[Floats, Floats]:
    """Shares of core-time with both threads busy, by mean busy shares 0…1."""
    busy = np.linspace(0.0, 1.0, _GRID)
    return busy, cores.overlap(busy)
