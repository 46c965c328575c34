"""Training mixes from the fleet's own visits: CPI beside others against CPI alone, instead of experiments (DIGEST I1, I2).

An application's solo pressure is what its chip's counters show in visits in which it has nearly all of the chip's CPU time, per
CPU second. In any other visit each application presses by that times the cores it keeps busy. Visits without neighbours are no
mixes: they say what is degraded from, and train nothing. A visit in which applications of
unknown pressure have more than a twentieth of the CPU time is left out, and counted: its pressure is not known.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.errors import BadShape
from analysis.input_checks import enough, numbers, positives
from analysis.interference.pressure import Pressures, degradation

ALONE = 0.95
"""Share of a chip's CPU time from which an application has it to itself."""
LEAST_ALONE = 8
"""Such visits that a solo figure needs."""


@dataclass(frozen=True, slots=True)
class Chips:
    """What visits saw of C chips (sockets), and of the P applications on them."""

    seconds: Float
    """Watched; (C,)."""
    lines: Float
    """Contributions into the shared cache, in millions; (C,)."""
    gigabytes: Float
    """Read from memory and written to it; (C,)."""
    chip: Int
    """Of each application seen; (P,)."""
    application: Int
    cpu_seconds: Float
    cycles: Float
    instructions: Float

    def __post_init__(self) -> None:
        if not len(self.seconds) == len(self.lines) == len(self.gigabytes):
            raise BadShape("Chips need seconds, lines and gigabytes each.")
        of_chip = (self.chip, self.application, self.cpu_seconds, self.cycles, self.instructions)
        if len({len(column) for column in of_chip}) > 1:
            raise BadShape("Applications need a chip, CPU seconds, cycles and instructions each.")
        if len(self.chip) and (self.chip.min() < 0 or self.chip.max() >= len(self.seconds)):
            raise BadShape("An application names a chip that is not there.")
        positives("seconds watched", self.seconds)
        for what, values in (("lines in", self.lines), ("gigabytes", self.gigabytes)):
            numbers(what, values, 0)
        for what, values in (
            ("CPU seconds", self.cpu_seconds),
            ("cycles", self.cycles),
            ("instructions", self.instructions),
        ):
            positives(what, values)

    @property
    def share(self) -> Float:
        """Of the chip's CPU time, of each application seen; (P,)."""
        return self.cpu_seconds / sums(self.chip, self.cpu_seconds, len(self.seconds))[self.chip]


@dataclass(frozen=True, slots=True)
class Solo:
    """One application alone."""

    cpi: float
    lines_per_cpu_s: float
    """Millions."""
    gigabytes_per_cpu_s: float
    visits: int


def alone(chips: Chips, application: int) -> Solo:
    """An application's figures from the visits in which it had the chip to itself. Raises InsufficientData below 8 of them."""
    seen = np.flatnonzero((chips.application == application) & (chips.share >= ALONE))
    enough("visits in which the application had a chip to itself", len(seen), LEAST_ALONE)
    chip = chips.chip[seen]
    cpu = float(sums(chips.chip, chips.cpu_seconds, len(chips.seconds))[chip].sum())
    return Solo(
        cpi=float(chips.cycles[seen].sum() / chips.instructions[seen].sum()),
        lines_per_cpu_s=float(chips.lines[chip].sum()) / cpu,
        gigabytes_per_cpu_s=float(chips.gigabytes[chip].sum()) / cpu,
        visits=len(seen),
    )


@dataclass(frozen=True, slots=True)
class Training:
    """What `target.fit_target` needs of one target."""

    own: Pressures
    """The target's own at its least busy, alone or beside others: no total is less. (Of visits beside others only, it was more
    than `typical` where the target is busiest beside others.)"""
    typical: Pressures
    """The target's own over all watched seconds of all visits that show it: what it presses by wherever it is placed."""
    mixes: Pressures
    """Total pressure in each visit with neighbours; (Q,)."""
    degradation: Float
    """(Q,)."""
    left_out: int
    """Visits of the target beside others whose pressure is not known."""


def training(chips: Chips, target: int, solos: dict[int, Solo]) -> Training:
    """The target's mixes from all visits that show it beside others whose solo figures are known.

    Raises InsufficientData where no visit is left, or the target's own solo figures are not among them.
    """
    enough("solo figures of the target", int(target in solos), 1)
    known = np.isin(chips.application, np.fromiter(solos, np.int64, len(solos)))
    covered = sums(chips.chip, chips.share * known, len(chips.seconds))
    lines, gigabytes = (
        _pressure(chips, known, solos, name) for name in ("lines_per_cpu_s", "gigabytes_per_cpu_s")
    )
    total_lines, total_gigabytes = (sums(chips.chip, each, len(chips.seconds)) for each in (lines, gigabytes))
    shown = np.flatnonzero(chips.application == target)
    seen = shown[chips.share[shown] < ALONE]
    kept = seen[covered[chips.chip[seen]] >= ALONE]
    enough("visits of the target with known neighbours", len(kept), 1)
    chip, watched = chips.chip[kept], chips.seconds[chips.chip[shown]]
    return Training(
        own=Pressures(lines[shown].min(keepdims=True), gigabytes[shown].min(keepdims=True)),
        typical=Pressures(
            *(np.average(each[shown], weights=watched, keepdims=True) for each in (lines, gigabytes))
        ),
        mixes=Pressures(total_lines[chip], total_gigabytes[chip]),
        degradation=degradation(chips.cycles[kept] / chips.instructions[kept], solos[target].cpi),
        left_out=len(seen) - len(kept),
    )


def _pressure(chips: Chips, known: Bool, solos: dict[int, Solo], name: str) -> Float:
    """Of each application seen, per second; 0 where it is not known."""
    rate = np.array(
        [
            getattr(solos[application], name) if there else 0.0
            for application, there in zip(chips.application.tolist(), known.tolist(), strict=True)
        ]
    )
    return np.asarray(rate * chips.cpu_seconds / chips.seconds[chips.chip])
