"""One window on a simulated machine: its process groups, the load of each, and the total pressure on its chips.

Means equal the model's exactly; around them a window is as uneven as real ones. With u the machine's utilisation and s
the shares of its process groups in the slot,

    busy in this window ~ Beta(κ·u, κ·(1 − u)),   shares ~ Dirichlet(λ·s).

Pressure and overlap of threads, and hence slowdowns, follow from the programs in the window, not from means.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from simulation.catalogue import APPLICATIONS, Application
from simulation.contention import Pressure, slowdown
from simulation.fleet import Fleet, slot_of
from simulation.groups import Group, groups_of
from simulation.platforms import PLATFORMS
from simulation.rates import MEMORY, OF_INSTRUCTIONS, units_per_core_second
from simulation.seeded_random import Floats
from simulation.threads import Cores
from simulation.variants import Variant

BUSY_CONCENTRATION: Final = 40.0
SHARE_CONCENTRATION: Final = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """A machine in one window: its groups and the load of each."""

    groups: tuple[Group, ...]
    release: tuple[int, ...]
    variant: tuple[Variant, ...]
    share: Floats
    """Shares of the busy time."""
    busy: float
    cores: Floats
    """CPUs that each group keeps busy."""
    platform: int
    mhz: float
    layout: Cores

    @property
    def overlap(self) -> float:
        """Share of core-time with both threads busy."""
        return float(self.layout.overlap(self.busy))

    def rates(self, event: str) -> Floats:
        """Units of the event per busy CPU second of each group here."""
        alone = np.array(
            [units_per_core_second(event, each, self.platform, self.mhz) for each in self._applications]
        )
        return alone / self._slower() if event in OF_INSTRUCTIONS else alone

    def pressure(self) -> Pressure:
        """Pressure on each of its chips."""
        lines, *moved = (
            float(self.cores @ self.rates(name)) / PLATFORMS[self.platform].packages
            for name in ("l2-lines-in", *MEMORY)
        )
        return Pressure(lines, sum(moved) / 1e9)

    @property
    def _applications(self) -> list[Application]:
        return [APPLICATIONS[group.application] for group in self.groups]

    def _slower(self) -> Floats:
        pressure, peak = self.pressure(), PLATFORMS[self.platform].peak_gbs
        beside = np.array(
            [float(slowdown(each, pressure.lines, pressure.gigabytes, peak)) for each in self._applications]
        )
        return np.asarray(beside / self.layout.speed(self.busy, PLATFORMS[self.platform].overlap))


def draw(fleet: Fleet, machine: int, at: float, random: np.random.Generator) -> Window:
    """A window at a time, seconds since 1970 UTC."""
    moment = fleet.at(slot_of(at), np.array([machine]))
    groups = groups_of(fleet, machine)
    application = np.array([group.application for group in groups])
    cores = moment.cores[0, application] * np.array([group.share for group in groups])
    utilisation = float(moment.utilisation[0])
    mean = cores / cores.sum()
    share = random.gamma(np.maximum(SHARE_CONCENTRATION * mean, 1e-9))
    share = share / share.sum() if share.sum() else mean
    busy = float(random.beta(BUSY_CONCENTRATION * utilisation, BUSY_CONCENTRATION * (1.0 - utilisation)))
    release = moment.release[0, application]
    pressure, platform = int(moment.pressure[0]), int(fleet.platform[machine])
    rare = fleet.runs_rare[machine, application]
    return Window(
        groups,
        tuple(release.tolist()),
        tuple(
            Variant(odd=bool(r % 2), rare=bool(f), pressure=pressure, platform=platform)
            for r, f in zip(release, rare, strict=True)
        ),
        share,
        busy,
        busy * share * int(fleet.cpus[machine]),
        platform,
        float(fleet.mhz[machine]),
        fleet.layout(machine),
    )
