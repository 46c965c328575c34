"""Interference: programs on a simulated chip, whose physics is not the model's (DIGEST I1, I2, I8).

Programs share a cache by how fast they fill it, so a program loses hits as others fill faster; and a memory whose latency grows
with its load as a queue's does. Slowed-down programs press less, so slowdowns and pressures are solved for together. The
model sees solo pressures alone, with errors of measurement.
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
    """Programs and what they are sensitive to; (n,) each."""

    lines: np.ndarray
    """Lines brought in alone, millions per second."""
    bandwidth: np.ndarray
    """GB/s alone."""
    by_cache: np.ndarray
    """Slowdown if all of its lines were lost."""
    by_memory: np.ndarray
    """Share of its time alone that waits for memory."""

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
        """Solo pressures as they are measured."""
        lines, bandwidth = (
            values * random.normal(1, error, len(values)) for values in (self.lines, self.bandwidth)
        )
        return Pressures(lines, bandwidth)


def made(random: np.random.Generator, programs: int) -> Chip:
    """Programs as different as a benchmark suite's: many that hardly touch memory, a few that fill it."""
    bandwidth = random.gamma(0.9, 2.4, programs).clip(0.02, 6.5)
    waiting = (bandwidth / 6 * random.lognormal(0, 0.3, programs)).clip(0.01, 0.9)
    return Chip(
        lines=bandwidth * random.lognormal(2.2, 0.3, programs),
        bandwidth=bandwidth,
        by_cache=random.uniform(0.01, 0.25, programs) * np.sqrt(waiting),
        by_memory=waiting,
    )
