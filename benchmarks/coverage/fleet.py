"""A fleet with known true values, and visits to it.

5 000 machines in 8 strata of unequal size, capacity and load. A machine's load varies between visits, some machines
burst for a day, and visits to busy machines often fail. Functions run on all machines or on few, and take a skewed
share of each. The estimated quantity is the expectation over all machine-moments of a day, including those at which a
visit would have failed; it follows exactly from the same arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

SECONDS: Final = 5.0
"""Length of a visit."""
_STRATA: Final = np.array([0.30, 0.22, 0.16, 0.12, 0.08, 0.06, 0.04, 0.02])
_LOAD: Final = np.array([0.30, 0.45, 0.25, 0.55, 0.35, 0.60, 0.20, 0.50])
_CAPACITY: Final = np.array([1600, 1200, 2400, 1600, 1200, 2400, 1600, 2400])
# Equally likely values of the factor between a machine's mean load and that of one visit.
_MOMENTS: Final = stats.gamma.ppf((np.arange(64) + 0.5) / 64, 5, scale=1 / 5)
_BURSTING: Final = 0.03
_BURST_LOAD: Final = 0.9
_BURST_SHARE: Final = 0.5
_SPIN: Final = 0.06
_SKEW: Final = 20.0
_FULLEST: Final = 0.93
# The probability that a visit fails is proportional to this power of the machine's utilisation.
_STEEPNESS: Final = 2
_UNREACHABLE: Final = 0.02


@dataclass(frozen=True)
class Planted:
    """Functions with about the same share of the fleet, each on a part of its machines."""

    name: str
    share: float
    count: int
    spreads: tuple[float, ...]


PLANTED: Final = (
    Planted("10pct", 0.10, 6, (1.0, 0.3)),
    Planted("1pct", 0.01, 18, (1.0, 0.3, 0.1)),
    Planted("01pct", 0.001, 42, (1.0, 0.1, 0.02)),
)


@dataclass(frozen=True)
class Seen:
    """Results of drawn visits; all arrays have one entry per visit."""

    machine: Int
    stratum: Int
    utilisation: Float
    answered: npt.NDArray[np.bool_]
    utilisation_known: npt.NDArray[np.bool_]
    day: Int
    counts: Int
    """Samples of each function; (visits, functions)."""


def joined(parts: Sequence[Seen]) -> Seen:
    """All visits, part after part."""
    return Seen(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Seen)))


@dataclass(frozen=True)
class Growth:
    """Functions whose cost grows by `factor`."""

    functions: Int
    factor: float


class Fleet:
    """Machines, their loads and programs; deterministic by seed."""

    def __init__(self, seed: int, machines: int = 5_000, days: int = 1, failing: float = 0.06) -> None:
        """`failing`: share of visits that fail on busy machines."""
        random = np.random.default_rng(seed)
        self.days: Final = days
        self.stratum: Final = np.repeat(np.arange(len(_STRATA)), np.rint(_STRATA * machines).astype(np.int64))
        n = len(self.stratum)
        self.population: Final = np.bincount(self.stratum)
        load = _LOAD[self.stratum]
        self._load: Final = np.stack([random.beta(8 * load, 8 * (1 - load))] * days)
        self._bursts: Final = random.random((days, n)) < _BURSTING
        self._load[self._bursts] = _BURST_LOAD
        shares, names = [], []
        for planted in PLANTED:
            for number in range(planted.count):
                spread = planted.spreads[number % len(planted.spreads)]
                mean = planted.share / spread
                skewed = random.beta(_SKEW * mean, _SKEW * (1 - mean), n)
                shares.append(np.where(random.random(n) < spread, skewed, 0.0))
                names.append(f"{planted.name}_{number}")
        p = np.stack(shares, axis=1)
        self._p: Final = p * np.minimum(1.0, _FULLEST / np.maximum(p.sum(axis=1, keepdims=True), 1e-9))
        self.names: Final = (*names, "burst", "spin", "other")
        self._refusing: Final = self._calibrated(failing)

    def functions(self, planted: Planted) -> Int:
        """Columns of the functions planted with a share."""
        return np.array([i for i, name in enumerate(self.names) if name.startswith(planted.name + "_")])

    def _calibrated(self, failing: float) -> float:
        return failing / float((self._utilisation(np.arange(len(self.stratum))) ** _STEEPNESS).mean())

    def _utilisation(self, machine: Int, load: float = 1.0) -> Float:
        """Utilisation at each of the equally likely moments of each day; (days, machines, moments)."""
        return np.minimum(load * self._load[:, machine, None] * _MOMENTS, 1.0)

    def _mixture(self, machine: Int, day: Int, utilisation: Float) -> Float:
        """Share of each function in the samples of machines at a utilisation; (…, functions)."""
        burst = np.where(self._bursts[day, machine], _BURST_SHARE, 0.0)
        spin = _SPIN * utilisation
        planted = self._p[machine] * ((1 - burst) * (1 - spin))[..., None]
        named = np.concatenate([planted, (burst * (1 - spin))[..., None], spin[..., None]], axis=-1)
        return np.concatenate([named, 1 - named.sum(axis=-1, keepdims=True)], axis=-1)

    @cached_property
    def truth(self) -> Float:
        """Expected samples of each function in the whole fleet in `SECONDS`; (days, functions)."""
        return self.truth_at(1.0)

    def truth_at(self, load: float) -> Float:
        """As `truth`, with every machine's load multiplied by `load`."""
        machines = np.arange(len(self.stratum))
        whole = np.zeros((self.days, len(self.names)))
        for day in range(self.days):
            utilisation = self._utilisation(machines, load)[day]
            for moment in range(len(_MOMENTS)):
                u = utilisation[:, moment]
                samples = _CAPACITY[self.stratum] * u / len(_MOMENTS)
                whole[day] += samples @ self._mixture(machines, np.full(len(machines), day), u)
        return whole

    def visit(
        self,
        machine: Int,
        day: Int,
        random: np.random.Generator,
        *,
        grown: Growth | None = None,
        load: float = 1.0,
    ) -> Seen:
        """Visits to these machines at random moments of these days, optionally after a release or at another load."""
        moment = random.integers(len(_MOMENTS), size=len(machine))
        u = np.minimum(load * self._load[day, machine] * _MOMENTS[moment], 1.0)
        samples = random.poisson(_CAPACITY[self.stratum[machine]] * u)
        refused = random.random(len(machine)) < self._refusing * u**_STEEPNESS
        unreachable = random.random(len(machine)) < _UNREACHABLE
        mixture = self._mixture(machine, day, u)
        if grown is not None:
            mixture[:, grown.functions] *= grown.factor
            # The rest shrinks, so that all shares add up to one.
            mixture[:, -1] = np.maximum(1 - mixture[:, :-1].sum(axis=1), 0.0)
        mixture /= mixture.sum(axis=1, keepdims=True)
        return Seen(
            machine=machine,
            stratum=self.stratum[machine],
            utilisation=u,
            answered=~(refused | unreachable),
            utilisation_known=~unreachable,
            day=day,
            counts=random.multinomial(samples, mixture),
        )
