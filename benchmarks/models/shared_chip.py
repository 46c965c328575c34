"""Interference: programs on a simulated chip, whose physics differs from the model's (DIGEST I1, I2, I8).

Programs share a cache in proportion to the rate at which they fill it, so a program loses hits as others fill faster.
They also share a memory whose latency grows with its load like a queue's. Slowed programs press less, so slowdowns and
pressures are solved together. The model receives only solo pressures, with measurement errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.interference.pieces import of_peak
from analysis.interference.pressure import Pressures

PEAK = 12.8
CUTS = of_peak(PEAK)
_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Chip:
    """Programs and their sensitivities; (n,) each."""

    lines: np.ndarray
    """Lines brought in when alone, millions per second."""
    bandwidth: np.ndarray
    """GB/s when alone."""
    by_cache: np.ndarray
    """Slowdown if all its lines were lost."""
    by_memory: np.ndarray
    """Share of its solo time that waits for memory."""

    def degradation(self, members: np.ndarray) -> np.ndarray:
        """True PD of each program of a mix, (m,)."""
        lines, bandwidth = self.lines[members], self.bandwidth[members]
        slow = np.ones(len(members))
        for _ in range(_ROUNDS):
            fill = lines / slow
            lost = 1 - 1 / (1 + (fill.sum() - fill) / 60)
            load = min(float((bandwidth / slow).sum()) / PEAK, 0.97)
            queue = 0.35 * load**2 / (1 - load)
            wanted = 1 + self.by_cache[members] * lost + self.by_memory[members] * queue
            slow = slow + 0.5 * (wanted - slow)
        alone = 1 + self.by_memory[members] * 0.35 * (bandwidth / PEAK) ** 2 / (1 - bandwidth / PEAK)
        return np.asarray(slow / alone - 1)

    def seen(self, random: np.random.Generator, error: float) -> Pressures:
        """Measured solo pressures."""
        lines, bandwidth = (
            values * random.normal(1, error, len(values)) for values in (self.lines, self.bandwidth)
        )
        return Pressures(lines, bandwidth)


def made(random: np.random.Generator, programs: int) -> Chip:
    """Programs as varied as a benchmark suite's: many that hardly use memory, a few that saturate it."""
    bandwidth = random.gamma(0.9, 2.4, programs).clip(0.02, 6.5)
    waiting = (bandwidth / 6 * random.lognormal(0, 0.3, programs)).clip(0.01, 0.9)
    return Chip(
        lines=bandwidth * random.lognormal(2.2, 0.3, programs),
        bandwidth=bandwidth,
        by_cache=random.uniform(0.01, 0.25, programs) * np.sqrt(waiting),
        by_memory=waiting,
    )
