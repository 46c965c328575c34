"""Mixes of programs on one chip, with a truth that is known and that no fitted function has the form of."""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int
from analysis.interference.pieces import of_peak
from analysis.interference.pressure import Pressures

PEAK = 12.8
CUTS = of_peak(PEAK)


@dataclass(frozen=True)
class Chip:
    """Programs and how the last of them, the target, suffers."""

    programs: Pressures
    target: int
    cache_cost: float
    bandwidth_cost: float

    def truth(self, mixes: Pressures) -> Float:
        """Contention for the cache saturates; for bandwidth it grows ever faster towards the peak."""
        cache = self.cache_cost * (1 - np.exp(-mixes.cache / 40))
        load = mixes.bandwidth / PEAK
        return np.asarray(cache + self.bandwidth_cost * (0.1 * load + np.logaddexp(0, 8 * (load - 0.6)) / 8))

    def mixes(self, rng: np.random.Generator, count: int, others: int = 3) -> Int:
        """Random mixes of the target with others, it first."""
        rest = np.delete(np.arange(len(self.programs.cache)), self.target)
        picked = np.array([rng.choice(rest, others, replace=False) for _ in range(count)])
        return np.column_stack([np.full(count, self.target), picked])


def chip(rng: np.random.Generator, programs: int = 30, target: int | None = None) -> Chip:
    bandwidth = rng.gamma(1.0, 1.4, programs).clip(0.02, 6)
    cache = bandwidth * rng.lognormal(1.6, 0.35, programs)
    chosen = int(rng.integers(programs)) if target is None else target
    return Chip(Pressures(cache, bandwidth), chosen, rng.uniform(0.02, 0.15), rng.uniform(0.1, 0.6))
