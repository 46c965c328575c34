"""Training mixes from the fleet's visits, without experiments: CPI next to others against CPI alone (DIGEST I1, I2).

An application's solo pressure is measured by its chip's counters in visits in which it has nearly all of the chip's CPU
time, per CPU second. In any other visit its pressure is that times the cores it keeps busy. Visits without neighbours
are not mixes: they are the reference of degradation and not used for training. A visit in which applications with
unknown pressure have more than a twentieth of the CPU time has an unknown total; it is left out and counted.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float, Int, sums
from analysis.errors import BadShape
from analysis.input_checks import enough, numbers, positives
from analysis.interference.pressure import Pressures, degradation

ALONE = 0.95
"""Share of a chip's CPU time from which an application has the chip to itself."""
LEAST_ALONE = 8
"""Minimum of such visits for a solo figure."""


@dataclass(frozen=True, slots=True)
class Chips:
    """Observations of C chips (sockets) and of P applications on them."""

    seconds: Float
    """Watched seconds; (C,)."""
    lines: Float
    """Lines brought into the shared cache, in millions; (C,)."""
    gigabytes: Float
    """Memory traffic, reads and writes; (C,)."""
    chip: Int
    """The chip of each observed application; (P,)."""
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
            raise BadShape("An application refers to a chip that does not exist.")
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
        """Share of the chip's CPU time of each observed application; (P,)."""
        return self.cpu_seconds / sums(self.chip, self.cpu_seconds, len(self.seconds))[self.chip]


@dataclass(frozen=True, slots=True)
class Solo:
    """One application alone."""

    cpi: float
    lines_per_cpu_s: float
    """In millions."""
    gigabytes_per_cpu_s: float
    visits: int


def alone(chips: Chips, application: int) -> Solo:
    """An application's figures from visits in which it had the chip to itself.

    Raises InsufficientData below 8 of them.
    """
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
    """The input of `target.fit_target` for one target."""

    own: Pressures
    """The target's own pressure at its least busy, alone or next to others: a lower bound of totals.

    From visits next to others alone, it exceeded `typical` where the target is busiest next to others."""
    typical: Pressures
    """The target's own mean pressure over all watched seconds of its visits, which it has wherever it is placed."""
    mixes: Pressures
    """Total pressure in each visit with neighbours; (Q,)."""
    degradation: Float
    """(Q,)."""
    left_out: int
    """Visits of the target next to others with unknown pressure."""


def training(chips: Chips, target: int, solos: dict[int, Solo]) -> Training:
    """The target's mixes from all visits in which it runs next to others with known solo figures.

    Raises InsufficientData if no visit is left, or if the target's own solo figures are missing.
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
    """Pressure of each observed application, per second; 0 if unknown."""
    rate = np.array(
        [
            getattr(solos[application], name) if there else 0.0
            for application, there in zip(chips.application.tolist(), known.tolist(), strict=True)
        ]
    )
    return np.asarray(rate * chips.cpu_seconds / chips.seconds[chips.chip])
