"""Training mixes from measured runs: a target's time, CPI or IPC alone, and next to others (DIGEST I1, I2, I8).

A run alone gives a program's pressure on a chip, as in the paper: means over the whole run. The pressure in a mix is
the sum over its programs' runs alone; no counts of the mix itself are needed. Runs of one program alone are averaged.
Inconsistent runs are reported and not averaged: runs alone, or next to the same others, that differ by more than a
half; a program that runs faster next to others than alone in most of its mixes, which suggests a wrong metric; a
program that alone exceeds the memory's bandwidth.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

import numpy as np

from analysis.arrays import Float
from analysis.errors import BadShape, Contradictory, InsufficientData
from analysis.input_checks import enough, number, numbers, positive, varied
from analysis.interference.colocation import Training
from analysis.interference.pressure import Pressures, degradation

MOST_APART = 1.5
"""Maximum ratio of values of repeated runs. Repetitions differ by percents; a factor of two is a different thing."""
_FASTER = -0.05
"""Median degradation below which a speed-up by neighbours is not noise."""
_OVER_PEAK = 1.2
"""A peak is measured by a benchmark, which another program may slightly exceed."""


class Metric(StrEnum):
    """The meaning of a run's value."""

    TIME = "time"
    """Seconds of the same work."""
    CPI = "cpi"
    """Cycles per instruction."""
    IPC = "ipc"
    """Instructions per cycle."""

    def slowness(self, value: float) -> float:
        """The value in a form that grows as the program runs slower."""
        return 1 / value if self is Metric.IPC else value


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a target on one platform: alone, or next to others."""

    target: str
    beside: tuple[str, ...] = ()
    """Other programs on the chip; a repeated name ran several times. (): alone."""
    metric: Metric | None = None
    """None: only the pressure of a run alone is known."""
    value: float | None = None
    """> 0, in the metric's unit."""
    lines: float | None = None
    """Only for a run alone: millions of lines brought into the shared cache per second, ≥ 0; else None."""
    gigabytes: float | None = None
    """Only for a run alone: GB/s of memory reads and writes, ≥ 0; else None."""
    cores: float | None = None
    """Only for a run alone: busy cores, > 0; else None."""

    def __post_init__(self) -> None:
        """Raise BadShape for figures that such a run cannot have, NotANumber for an impossible one."""
        pressure = (self.lines, self.gigabytes, self.cores)
        if (self.metric is None) != (self.value is None):
            raise BadShape("A value needs its metric, and a metric its value.")
        if self.beside and (self.value is None or any(each is not None for each in pressure)):
            raise BadShape("A run beside others has a value and no pressure of its own.")
        if self.value is not None:
            positive("value", self.value)
        if self.beside:
            return
        if self.lines is None or self.gigabytes is None or self.cores is None:
            raise BadShape("A run alone needs its lines, gigabytes and cores.")
        number("lines in millions a second", self.lines, 0)
        number("gigabytes a second", self.gigabytes, 0)
        positive("cores", self.cores)


@dataclass(frozen=True, slots=True)
class Program:
    """An application, from its runs alone."""

    lines: float
    """Millions per second, averaged over runs."""
    gigabytes: float
    """Per second, averaged over runs."""
    cores: float
    """Busy cores meanwhile."""
    metric: Metric | None
    """None: only its pressure is known."""
    slowness: float
    """Mean time of the work, or cycles per instruction; NaN if only its pressure is known."""
    runs: int


def programs(runs: Iterable[Run]) -> Mapping[str, Program | Contradictory]:
    """Every application that ran alone, by name; or why its runs cannot be of one program.

    That is so if they differ in metric or cores, or by more than a half in value.
    """
    alone: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if not run.beside:
            alone[run.target].append(run)
    found: dict[str, Program | Contradictory] = {}
    for name, each in alone.items():
        try:
            found[name] = _program(name, each)
        except Contradictory as error:
            found[name] = error
    return found


def training(runs: Sequence[Run], target: str, peak: float) -> Training:
    """The target's mixes, for `target.fit_target`. `peak` is the GB/s of the chip's memory.

    Raises InsufficientData without runs next to others, or if the target or a neighbour has no run alone; Constant if
    all mixes are equal; Contradictory for inconsistent values; NotANumber.
    """
    mixes = [run for run in runs if run.beside and run.target == target]
    enough(f"runs of {target} beside others", len(mixes), 1)
    known = _needed(runs, mixes)
    own = known.get(target)
    if own is None or not isfinite(own.slowness):
        raise InsufficientData(
            f"No run of {target} alone has its {mixes[0].metric}, so its speed without neighbours is unknown."
        )
    strangers = sorted({name for run in mixes for name in run.beside} - set(known))
    if strangers:
        raise InsufficientData(
            f"No run of {', '.join(strangers)} alone is available, so the pressure is unknown."
        )
    if any(run.metric is not own.metric for run in mixes):
        raise Contradictory(
            f"{target} has different metrics alone and beside others, so they cannot be compared."
        )
    most = _OVER_PEAK * positive("peak bandwidth in GB/s", peak)
    for name in (target, *sorted(set(known) - {target})):
        program = known[name]
        if program.gigabytes > most:
            raise Contradictory(
                f"{name} alone moved {program.gigabytes:.3g} GB/s, but the peak bandwidth of a chip's "
                f"memory is {peak:.3g} GB/s: one of the two is wrong."
            )
    _check_repeated(mixes)
    slowness = np.array([_slowness(run) for run in mixes])
    found = degradation(slowness, own.slowness)
    if len(found) > 1:
        varied(f"The values of all {len(found)} runs of {target} beside others", slowness)
    if float(np.median(found)) < _FASTER:
        raise Contradictory(
            f"{target} ran faster beside others than alone, by {-float(np.median(found)):.0%} in the "
            "median run: the metric may differ, or its run alone did other work."
        )
    lines, gigabytes = (
        np.array([_sum(known, run, pressure) for run in mixes]) for pressure in ("lines", "gigabytes")
    )
    solo = Pressures(np.array([own.lines]), np.array([own.gigabytes]))
    return Training(own=solo, typical=solo, mixes=Pressures(lines, gigabytes), degradation=found, left_out=0)


def _needed(runs: Sequence[Run], mixes: Sequence[Run]) -> Mapping[str, Program]:
    """The programs of these mixes that ran alone. Raises Contradictory for the first that cannot be one program."""
    names = {name for run in mixes for name in (run.target, *run.beside)}
    found: dict[str, Program] = {}
    for name, program in programs(run for run in runs if run.target in names).items():
        if isinstance(program, Contradictory):
            raise program
        found[name] = program
    return found


def _program(name: str, alone: Sequence[Run]) -> Program:
    metrics = {run.metric for run in alone if run.metric is not None}
    if len(metrics) > 1:
        raise Contradictory(
            f"The runs of {name} alone have more than one metric: {', '.join(sorted(metrics))}."
        )
    if len({run.cores for run in alone}) > 1:
        raise Contradictory(
            f"The runs of {name} alone keep different numbers of cores busy, so they are different programs."
        )
    slowness = numbers("value", [_slowness(run) for run in alone if run.value is not None])
    _check_apart(f"The runs of {name} alone", slowness)
    return Program(
        lines=_mean(run.lines for run in alone),
        gigabytes=_mean(run.gigabytes for run in alone),
        cores=_mean(run.cores for run in alone),
        metric=next(iter(metrics), None),
        slowness=float(slowness.mean()) if len(slowness) else np.nan,
        runs=len(alone),
    )


def _check_repeated(mixes: Sequence[Run]) -> None:
    same: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for run in mixes:
        same[tuple(sorted(run.beside))].append(_slowness(run))
    for beside, values in same.items():
        _check_apart(f"The runs of {mixes[0].target} beside {', '.join(beside)}", np.array(values))


def _check_apart(which: str, slowness: Float) -> None:
    """Raise Contradictory if values of the same thing differ too much."""
    if len(slowness) and slowness.max() > MOST_APART * slowness.min():
        raise Contradictory(
            f"{which} differ by a factor of {slowness.max() / slowness.min():.3g}, so they did "
            "different work."
        )


def _slowness(run: Run) -> float:
    assert run.metric is not None, "only runs with a value are used"
    assert run.value is not None
    return run.metric.slowness(run.value)


def _sum(known: Mapping[str, Program], run: Run, pressure: str) -> float:
    return float(sum(getattr(known[name], pressure) for name in (run.target, *run.beside)))


def _mean(values: Iterable[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))
