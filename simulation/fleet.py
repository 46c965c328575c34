"""The model of the fleet: its machines, their programs, and the load of each at any moment.

Strategy: everything is a pure function of (seed, machine, application, time). Demand is constant within slots of five
minutes, so integrals over time are sums and the true values are exact (`ground_truth.py`). In slot k machine i spends
on application a

    d[i,a,k] = base[i,a] · rhythm[a](k, datacenter) · burst[i,k] · cost[a, release parity]    cores,

all scaled down together if the sum exceeds 97 % of the machine. The base loads of machines are log-normal, skewed like
those of real fleets; shares of applications follow Zipf's law.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from simulation.catalogue import APPLICATIONS, SERVICES, Kind, Rhythm
from simulation.platforms import DATACENTERS, KEEPS_APART, KERNELS, PLATFORMS, STRATA
from simulation.seeded_random import Floats, Indexes, normal, uniform
from simulation.threads import Cores
from simulation.variants import cost

SLOT_S: Final = 300
_BURST_SLOTS: Final = 6
_BURST_SHARE: Final = 0.03
_HIGHEST: Final = 0.97
_IDLE_SHARE: Final = 0.05
_MEDIAN_LOAD: Final = 0.30
_SPREAD_OF_LOAD: Final = 0.6
_SLOWED: Final = 0.1
_SLOWED_TO: Final = 0.8
RARE_MACHINES: Final = 0.015
"""Share of a service's machines that run its rare function."""
PRESSURES: Final = (0.25, 0.5, 0.75)
"""Utilisations at which contention changes."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Moment:
    """m machines in one slot, over all applications of the catalogue."""

    cores: Floats
    """(m, a) CPUs busy with each application."""
    release: Indexes
    """(m, a) number of the release each runs; 0 for an application without releases."""
    utilisation: Floats
    """(m) busy share of all logical CPUs, 0…1."""

    @property
    def pressure(self) -> Indexes:
        """(m) class of utilisation, 0…3."""
        return np.searchsorted(np.array(PRESSURES), self.utilisation, "right").astype(np.int64)


class Fleet:
    """A fleet of `machines` machines. The first n machines of a larger fleet with the same seed are different ones."""

    def __init__(
        self,
        machines: int,
        *,
        seed: int = 7,
        strata: int = 8,
        services: int = len(SERVICES),
        dedicated: float = 0.12,
        smt: bool = True,
    ) -> None:
        """Run the largest `services` services of the catalogue; a share `dedicated` of machines runs one of them alone.

        Without `smt` every logical CPU is a core, as if SMT were switched off.
        Raises ValueError for fewer machines than strata, or more strata or services than exist.
        """
        if not 1 <= strata <= len(STRATA):
            raise ValueError(f"A fleet has 1 to {len(STRATA)} strata, not {strata}.")
        if machines < strata:
            raise ValueError(f"{machines} machines are too few for {strata} strata.")
        if not 1 <= services <= len(SERVICES):
            raise ValueError(f"A fleet has 1 to {len(SERVICES)} services, not {services}.")
        self.seed = seed
        self.services = services
        self.size = machines
        self.strata = strata
        index = np.arange(machines)
        shares = 1.0 / (1.0 + np.arange(strata)) ** 0.8
        sizes = np.maximum(np.floor(shares / shares.sum() * machines), 1).astype(np.int64)
        sizes[0] += machines - sizes.sum()
        self.stratum: Indexes = np.repeat(np.arange(strata), sizes)
        """(m) number of each machine's stratum, a row of `platforms.STRATA`."""
        places = np.array(STRATA)[self.stratum]
        self.datacenter: Indexes = places[:, 0]
        self.platform: Indexes = places[:, 1]
        largest = np.array([2 * p.packages * p.cores_per_package for p in PLATFORMS])[self.platform]
        part = np.array([1, 2, 4, 8])[(uniform(seed, "size", index) * 4).astype(np.int64)]
        self.cpus: Indexes = largest // part
        """(m) logical CPUs."""
        self.threads = 2 if smt else 1
        """Threads of each core."""
        self.kernel: Indexes = self.datacenter % len(KERNELS)
        """(m) row of `platforms.KERNELS`; all machines of a datacenter run the same kernel."""
        self.is_idle: Flags = uniform(seed, "idle", index) < _IDLE_SHARE
        self.is_dedicated: Flags = ~self.is_idle & (uniform(seed, "dedicated", index) < dedicated)
        """(m) whether the machine runs one service only."""
        self.is_slowed: Flags = uniform(seed, "governor", index) < _SLOWED
        """(m) whether its governor keeps it below the nominal frequency."""
        nominal = np.array([p.nominal_mhz for p in PLATFORMS])[self.platform]
        self.mhz: Floats = np.where(self.is_slowed, _SLOWED_TO, 1.0) * nominal
        """(m) frequency of all its busy CPUs."""
        load = _MEDIAN_LOAD * np.exp(_SPREAD_OF_LOAD * normal(seed, "load", index))
        self._load = np.where(self.is_idle, 0.0, np.clip(load, 0.02, 0.85))

    def layout(self, machine: int) -> Cores:
        """Distribution of busy time over a machine's cores."""
        apart = bool(self.kernel[machine] == KEEPS_APART)
        return Cores(int(self.cpus[machine]) // self.threads, self.threads, apart)

    def name(self, machine: int) -> str:
        """Name in the inventory."""
        return f"{DATACENTERS[self.datacenter[machine]]}-{machine:05d}"

    @cached_property
    def base(self) -> Floats:
        """(m, a) cores that each application takes in an average hour."""
        index, services = np.arange(self.size)[:, None], np.arange(len(SERVICES))[None, :]
        spread = np.array([service.spread for service in SERVICES])
        runs = uniform(self.seed, "runs", index, services) < spread
        runs[:, self.services :] = False
        runs[self.is_dedicated] = False
        # A machine that is not idle runs at least one service.
        home = (np.arange(self.size) * 7919) % self.services
        runs[np.arange(self.size), home] |= ~runs.any(axis=1)
        runs[self.is_idle] = False
        size = 1.0 / (1.0 + np.arange(len(SERVICES))) / spread
        wish = runs * size * np.exp(0.8 * normal(self.seed, "taste", index, services))
        total = wish.sum(axis=1, keepdims=True)
        share = np.divide(wish, total, out=np.zeros_like(wish), where=total > 0)
        served = share * (self._load * self.cpus)[:, None]
        others = np.array([a.kind for a in APPLICATIONS[len(SERVICES) :]])
        numbers = np.arange(len(SERVICES), len(APPLICATIONS))[None, :]
        chatter = np.exp(0.7 * normal(self.seed, "chatter", index, numbers))
        # A daemon takes about a hundredth of a core; a family of kernel threads grows with the machine.
        each = np.where(others == Kind.DAEMON, 0.012, 0.0006 * self.cpus[:, None])
        return np.concatenate([served, each * chatter], axis=1)

    @cached_property
    def runs_rare(self) -> Flags:
        """(m, a) whether the application runs its rare function on this machine."""
        index, number = np.arange(self.size)[:, None], np.arange(len(APPLICATIONS))[None, :]
        return (uniform(self.seed, "rare", index, number) < RARE_MACHINES) & (number < len(SERVICES))

    @cached_property
    def _turn(self) -> Floats:
        """(m, a) position of the machine in roll-outs, 0…1."""
        return uniform(
            self.seed, "turn", np.arange(self.size)[:, None], np.arange(len(APPLICATIONS))[None, :]
        )

    @cached_property
    def _costs(self) -> Floats:
        """(a, 2) cost of an even and an odd release."""
        return np.array([[1.0, cost(a, self.seed, odd=True)] for a in APPLICATIONS])

    def at(self, slot: int, machines: Indexes | None = None) -> Moment:
        """Load in slot number `slot`, which begins 300 · slot seconds after 1970 UTC."""
        which = np.arange(self.size) if machines is None else machines
        release = self.releases(slot, which)
        number = np.arange(len(APPLICATIONS))[None, :]
        wave = rhythms(slot)[self.datacenter[which]][:, [a.rhythm for a in APPLICATIONS]]
        cores = self.base[which] * wave * self._costs[number, release % 2]
        cores[:, : len(SERVICES)] *= self.bursts(slot, which)[:, None]
        busy = cores.sum(axis=1) / self.cpus[which]
        scale = np.minimum(1.0, _HIGHEST / np.maximum(busy, 1e-9))
        return Moment(cores * scale[:, None], release, np.minimum(busy, _HIGHEST))

    def bursts(self, slot: int, machines: Indexes) -> Floats:
        """Factor on the machines' services: 1, or up to several times that in a few half hours."""
        block = slot // _BURST_SLOTS
        has = uniform(self.seed, "burst", machines, block) < _BURST_SHARE
        height = -np.log1p(-uniform(self.seed, "height", machines, block))
        return np.where(has, 1.5 + height, 1.0)

    def releases(self, slot: int, machines: Indexes) -> Indexes:
        """(m, a) number of the release that each application runs; 0 for an application without releases."""
        days = np.array([a.release_days for a in APPLICATIONS])
        rollout = np.array([a.rollout for a in APPLICATIONS])
        has = days > 0
        phase = uniform(self.seed, "phase", np.arange(len(APPLICATIONS)))
        passed = slot * SLOT_S / 86_400 / np.where(has, days, 1.0) + phase
        number = np.floor(passed)
        progress = (passed - number) / rollout
        on = number[None, :] - (self._turn[machines] >= progress[None, :])
        return np.where(has[None, :], on, 0).astype(np.int64)


def slot_of(moment: float) -> int:
    """The slot of a time in seconds since 1970 UTC."""
    return int(moment // SLOT_S)


def rhythms(slot: int) -> Floats:
    """(datacenter, rhythm) factor on demand; its mean over a working day is about 1."""
    hour = (slot * SLOT_S / 3600.0 - 5.0 * np.arange(len(DATACENTERS))) % 24.0
    day = (
        np.floor((slot * SLOT_S / 3600.0 - 5.0 * np.arange(len(DATACENTERS))) / 24.0) + 3
    )  # 1970 began on Thursday
    weekend = np.where(day % 7 >= 5, 0.75, 1.0)
    wave = np.sin(2.0 * np.pi * (hour - 9.0) / 24.0)
    factors = np.ones((len(DATACENTERS), len(Rhythm)))
    factors[:, Rhythm.DAY] = (1.0 + 0.45 * wave) * weekend
    factors[:, Rhythm.NIGHT] = 1.0 - 0.6 * wave
    return factors
