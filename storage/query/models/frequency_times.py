"""Fits A/f + B to times measured at several frequencies f. It uses no data of the fleet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, isfinite

import numpy as np

from analysis.dvfs import memory, timed_runs
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.timed_runs import Setting, TimedRuns, from_runs
from analysis.errors import NotEstimable
from analysis.measured import Measured
from storage.errors import BadSelection
from storage.query.answers.figures import definite, figure
from storage.query.answers.frequency_times import FrequencyTimesAnswer, TimedSetting, TimedSlowdown
from storage.query.answers.inputs import Unavailable
from storage.query.models.frequency_options import Wanted, memory_change, memory_of

MOST_RUNS = 1_000


@dataclass(frozen=True, slots=True)
class Timed:
    """One run as given. Its numbers may be unusable; the model rejects these."""

    mhz: float
    seconds: float
    memory_mhz: float | None = None


@dataclass(frozen=True, slots=True)
class TimesQuestion:
    """A question about some runs."""

    runs: Sequence[Timed]
    wanted: Wanted
    memory_mhz: float | None = None
    """The memory's frequency, if the runs do not contain it."""
    memory_target_mhz: float | None = None
    memory_part: float = 1.0

    def answer(self) -> FrequencyTimesAnswer:
        """The fit and its predictions. Raises `BadSelection`."""
        memories = [run.memory_mhz for run in self.runs]
        if len(self.runs) > MOST_RUNS:
            raise BadSelection(f"There are more than {MOST_RUNS:,} runs.", parameter="runs")
        if any(each is None for each in memories) and any(each is not None for each in memories):
            raise BadSelection("Some runs give the frequency of the memory, others do not.", parameter="runs")
        try:
            fit = from_runs(
                [run.mhz * 1e6 for run in self.runs],
                [run.seconds for run in self.runs],
                None if None in memories or not memories else [(each or 0) * 1e6 for each in memories],
            )
        except NotEstimable as error:
            return _without_fit(self, Unavailable(error.reason, str(error)))
        return _of_fit(self, fit, _change(self, fit))


def _change(asked: TimesQuestion, fit: TimedRuns) -> MemoryChange | None:
    known = _known_mhz(fit)
    if known is not None and asked.memory_mhz is not None and not isclose(known, asked.memory_mhz):
        where = "at the base" if fit.knows_memory else "in all of them"
        raise BadSelection(
            f"The runs have the memory at {known:g} MHz {where}, not at {asked.memory_mhz:g}.",
            hint="Leave memory_mhz out.",
            parameter="memory_mhz",
        )
    if fit.knows_memory and asked.memory_part != 1:
        raise BadSelection(
            "The part that scales with the memory's clock is fitted, because the runs have several memory "
            "frequencies.",
            hint="Leave memory_part out.",
            parameter="memory_part",
        )
    measured = asked.memory_mhz if known is None else known
    return memory_change(measured, asked.memory_target_mhz, asked.memory_part)


def _known_mhz(fit: TimedRuns) -> float | None:
    """The memory's frequency at the base, from the runs."""
    known = fit.base().memory_hz if fit.knows_memory else fit.memory_hz
    return None if known is None else known / 1e6


def _without_fit(asked: TimesQuestion, unavailable: Unavailable) -> FrequencyTimesAnswer:
    return FrequencyTimesAnswer(
        runs=len(asked.runs),
        base_mhz=asked.wanted.base_mhz,
        base_memory_mhz=asked.memory_mhz,
        performance=asked.wanted.performance,
        memory=None,
        memory_target_mhz=asked.memory_target_mhz,
        on_chip_cycles=None,
        fixed_seconds=None,
        memory_cycles=None,
        off_chip=None,
        spread=None,
        held_out_error=None,
        naive_error=None,
        lowest_mhz=None,
        lowest_because=None,
        lowest_at_memory_mhz=None,
        lowest_at_memory_because=None,
        clipped=False,
        slowdowns=(),
        rows=(),
        limits=timed_runs.LIMITS,
        because=unavailable,
    )


def _of_fit(asked: TimesQuestion, fit: TimedRuns, change: MemoryChange | None) -> FrequencyTimesAnswer:
    """The results of a fit. A requirement that no frequency or every frequency meets has a null figure and a reason."""
    wanted = asked.wanted
    base_mhz = wanted.base_mhz or fit.base().hertz / 1e6
    base = base_mhz * 1e6
    lowest, why = _lowest(fit, wanted.performance, base, None)
    other, other_why = (None, None) if change is None else _lowest(fit, wanted.performance, base, change)
    held = [each for each in fit.settings if each.held_out is not None and each.naive is not None]
    of_memory = timed_runs.FITTED_MEMORY if fit.knows_memory else memory.LIMITS if change else ()
    return FrequencyTimesAnswer(
        runs=len(asked.runs),
        base_mhz=base_mhz,
        base_memory_mhz=_known_mhz(fit) or asked.memory_mhz,
        performance=wanted.performance,
        memory=memory_of(None if fit.knows_memory else change),
        memory_target_mhz=asked.memory_target_mhz,
        on_chip_cycles=figure(fit.on_chip_cycles),
        fixed_seconds=figure(fit.fixed_s),
        memory_cycles=figure(fit.memory_cycles),
        off_chip=figure(fit.off_chip_share(base)),
        spread=fit.spread if isfinite(fit.spread) else None,
        held_out_error=float(np.mean([abs(each.held_out or 0) for each in held])) if held else None,
        naive_error=float(np.mean([abs(each.naive or 0) for each in held])) if held else None,
        lowest_mhz=figure(lowest),
        lowest_because=why,
        lowest_at_memory_mhz=figure(other),
        lowest_at_memory_because=other_why,
        clipped=fit.clipped,
        slowdowns=tuple(_slowdown(fit, mhz, base_mhz, change) for mhz in wanted.grid(base_mhz)),
        rows=tuple(map(_setting, fit.settings)),
        limits=(*timed_runs.LIMITS, *of_memory),
        because=None,
    )


def _slowdown(fit: TimedRuns, mhz: float, base_mhz: float, change: MemoryChange | None) -> TimedSlowdown:
    hertz, base = mhz * 1e6, base_mhz * 1e6
    return TimedSlowdown(
        mhz=mhz,
        slowdown=figure(fit.slowdown(hertz, base)),
        naive=base_mhz / mhz - 1,
        at_memory=None if change is None else figure(fit.slowdown(hertz, base, change)),
        seconds=definite(fit.time(hertz)),
    )


def _lowest(
    fit: TimedRuns, performance: float, base: float, change: MemoryChange | None
) -> tuple[Measured | None, Unavailable | None]:
    """The lowest frequency in MHz, or the reason why there is none."""
    try:
        found = fit.lowest_frequency(performance, base, change)
    except NotEstimable as error:
        return None, Unavailable(error.reason, str(error))
    return Measured(found.value / 1e6, found.lo / 1e6, found.hi / 1e6), None


def _setting(each: Setting) -> TimedSetting:
    return TimedSetting(
        mhz=each.hertz / 1e6,
        memory_mhz=None if each.memory_hz is None else each.memory_hz / 1e6,
        runs=each.runs,
        seconds=each.seconds,
        fitted=each.fitted,
        held_out=each.held_out,
        naive=each.naive,
    )
