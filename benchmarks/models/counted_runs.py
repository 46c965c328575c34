"""Frequency: simulated runs, predicted from one frequency by their simulated counters (DIGEST D2, D6).

The simulation contains effects that the model lacks: misses overlap to a degree that differs by program, write-backs
add to the time off the chip, latency differs from its measurement, and counters and clocks have errors. Nor is time
A/f + B: hits in the shared cache depend on a clock of their own, which no counter shows, and memory's queue grows with
the cores' frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.dvfs.frequency_model import naive
from analysis.dvfs.one_run import from_counters

_BASE = 1.2e9
_HERTZ = np.arange(1.3e9, 2.05e9, 0.1e9)
"""The paper's frequencies: fitted at 1.2 GHz, predicted at 1.3 to 2.0 GHz."""
_LATENCY_S = 91e-9
_CLOCK = 0.003
"""Relative error of a run's time, as in repeated runs of cBench."""
_COUNTER = 0.01
_OTHER_CLOCK = 0.05
"""Maximum share of the time at the base frequency that depends on the shared cache's own clock."""
_QUEUE = 0.3
"""Maximum increase of memory's latency as the cores' frequency doubles."""


@dataclass(frozen=True, slots=True)
class Found:
    """Relative errors of performance, one per program and frequency."""

    model: np.ndarray
    naive: np.ndarray
    noise: np.ndarray
    """Errors of the true value itself: the errors of the two clocks."""
    programs: int


def measure(programs: int, seed: int) -> Found:
    """Simulate `programs` programs; the time that waits for memory ranges from none to half."""
    random = np.random.default_rng(seed)
    model, plain, noise = [], [], []
    for _ in range(programs):
        instructions = random.uniform(1e11, 1e12)
        cpi = random.lognormal(0.1, 0.3)
        miss_share = min(random.gamma(0.7, 4e-3), 1.5e-2)
        misses = instructions * miss_share
        waiting = misses * _LATENCY_S * random.normal(1, 0.05)
        waiting *= (1 - random.uniform(0, 0.25)) * (1 + random.uniform(0, 0.05))
        cycles = (instructions - misses) * cpi
        other = random.uniform(0, _OTHER_CLOCK) * cycles / _BASE
        queue = random.uniform(0, _QUEUE)
        base = cycles / _BASE + other + waiting
        seen = base * random.normal(1, _CLOCK)
        found = from_counters(
            instructions * random.normal(1, _COUNTER),
            misses * random.normal(1, _COUNTER),
            seen,
            _BASE,
            _LATENCY_S,
        )
        for hertz in _HERTZ:
            true = base / (cycles / hertz + other + waiting * (1 + queue * (hertz / _BASE - 1)))
            measured = true * random.normal(1, _CLOCK) * seen / base
            model.append(abs(float(found.model.performance(hertz, _BASE)) / measured - 1))
            plain.append(abs(float(naive(hertz, _BASE)) / measured - 1))
            noise.append(abs(true / measured - 1))
    return Found(np.array(model), np.array(plain), np.array(noise), programs)
