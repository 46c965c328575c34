"""Cost of a campaign for a fleet, and its precision after one day.

The fleet is that of the simulations in docs/numbers.md: machines with very different loads (gamma, shape 4), load that
varies between visits of a machine (gamma, shape 5), and a function whose share varies widely between machines (beta; at
1 % on average half of the machines hardly run it). Intervals are computed by the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis import estimate, moments
from analysis.weights import equal

DAY_S: Final = 86_400.0
MACHINES: Final = 1000
_CONCENTRATION: Final = 20.0
_BUSY_CPU_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Visits:
    """Visits of a campaign: number per day in the whole fleet, duration and density."""

    per_day: float
    seconds: float
    rate_hz: float

    @property
    def per_machine_and_day(self) -> float:
        """Visits per machine and day in a fleet of `MACHINES`."""
        return self.per_day / MACHINES


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds on one machine with `cpus` CPUs. `visit_s`: start, capture and lingering of one visit."""

    cpus: int
    idle_s_per_s: float
    visit_s: float
    kernel_s_per_sample: float
    samples_per_visit: float

    def share(self, visits: Visits) -> float:
        """Share of all CPU time of the fleet."""
        kernel = self.kernel_s_per_sample * self.samples_per_visit
        a_day = self.idle_s_per_s * DAY_S + visits.per_machine_and_day * (self.visit_s + kernel)
        return a_day / (self.cpus * DAY_S)


def relative_halfwidth(
    visits: Visits, *, share: float = 0.01, spread: float = 1.0, cpus: int = 2, days: int = 200
) -> float:
    """Half the 95 % interval of a function's share in the fleet after one day, relative to the share.

    A mean over simulated days. `spread`: share of the machines that run the function at all.
    """
    random = np.random.default_rng(1)
    count = round(visits.per_day)
    full = visits.seconds * visits.rate_hz * cpus * _BUSY_CPU_SHARE
    widths = []
    for _ in range(days):
        busy = random.gamma(4, full / 4, MACHINES)
        a = _CONCENTRATION * share / spread
        runs = random.random(MACHINES) < spread
        p = np.where(runs, random.beta(a, max(_CONCENTRATION - a, 0.1), MACHINES), 0.0)
        machine = random.integers(0, MACHINES, count)
        x = random.poisson(busy[machine] * random.gamma(5, 1 / 5, count)).astype(np.float64)
        y = random.binomial(x.astype(np.int64), p[machine]).astype(np.float64)
        seen = np.flatnonzero(y)
        row = estimate.shares(
            moments.from_visits(
                np.ones(count),
                np.zeros(count, np.int64),
                equal(np.array([float(count)])),
                x=x,
                row=np.zeros(len(seen), np.int64),
                visit=seen,
                y=y[seen],
                rows=1,
            )
        )
        widths.append(float(row.hi[0] - row.lo[0]) / 2 / float(row.value[0]))
    return float(np.mean(widths))
