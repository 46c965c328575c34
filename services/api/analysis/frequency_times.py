"""A/f + B fitted to measured times: /analysis/frequency-times. It uses no data of the fleet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.dvfs import memory, timed_runs
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.timed_runs import Setting, TimedRuns, from_runs
from analysis.errors import NotEstimable
from analysis.measured import Measured
from services.api.analysis.envelope import Figure, NoAnswerReason, because_document, figure_document
from services.api.analysis.frequency_answers import (
    Frequencies,
    FrequencyParameters,
    Memory,
    Slowdown,
    memory_document,
    slowdown_document,
)
from services.api.analysis.frequency_runs import Timed, runs_of
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.errors import BadSelection
from storage.query.models.frequency_options import Wanted, memory_change
from storage.query.models.no_answer import Unavailable

MOST_RUNS = 1_000
_LONGEST_RUNS = 40_000


class TimedSetting(Answer):
    """Runs at one frequency of the cores, and of the memory where it varies."""

    mhz: float
    memory_mhz: float | None
    runs: int
    seconds: float = Field(description="Mean seconds of these runs.")
    fitted: float
    held_out: float | None = Field(
        description="Relative error of the prediction of this setting from all others. Null: there are too few others."
    )
    naive: float | None = Field(description="The same if all time were on the chip.")


class TimedSlowdown(Slowdown):
    """The slowdown at one frequency."""

    seconds: Figure = Field(description="Seconds of one more run, with the interval that contains it.")


class FrequencyTimesAnswer(Answer):
    """The fit of times, and its predictions."""

    runs: int
    base_mhz: float | None = Field(description="Frequency that slowdowns are relative to.")
    base_memory_mhz: float | None = Field(
        description="The memory's frequency at the base. With several, the frequency of the fastest runs. Null: not "
        "known."
    )
    performance: float
    memory: Memory | None = Field(
        description="The assumed effect of the memory. Null also if the effect was fitted."
    )
    memory_target_mhz: float | None
    on_chip_cycles: Figure | None = Field(description="A: cycles of the cores.")
    fixed_seconds: Figure | None = Field(description="B: seconds that scale with no frequency that varied.")
    memory_cycles: Figure | None = Field(
        description="C: cycles of the memory; null: its frequency did not vary."
    )
    off_chip: Figure | None = Field(
        description="Share of the time at the base that does not scale with the cores' clock."
    )
    spread: float | None = Field(
        description="Relative standard deviation of times around the fit. Null: no time is left over to estimate it, "
        "and intervals are open."
    )
    clipped: bool = Field(description="A, B or C is 0, because its fitted value was negative by chance.")
    held_out_error: float | None = Field(description="Mean absolute value of the rows' `held_out`.")
    naive_error: float | None = Field(description="Mean absolute value of the rows' `naive`.")
    slowdowns: list[TimedSlowdown]
    lowest_mhz: Figure | None = Field(
        description="Lowest frequency that keeps the requested performance. Null: no frequency keeps it, any does, or "
        "nothing is known."
    )
    lowest_because: NoAnswerReason | None = Field(
        description="The reason why there is no lowest frequency: unreachable, no frequency keeps it; unbounded, any "
        "frequency does."
    )
    lowest_at_memory_mhz: Figure | None = Field(
        description="The same with the requested memory frequency. Null also if none was requested."
    )
    lowest_at_memory_because: NoAnswerReason | None
    rows: list[TimedSetting] = Field(description="The given times by frequency.")
    limits: list[str] = Field(description="Parts that the model leaves out.")
    because: NoAnswerReason | None


_FORMS = forms_of(FrequencyTimesAnswer, "rows")


@dataclass(frozen=True, slots=True)
class TimedRunsQuery:
    """A question about some runs."""

    runs: Sequence[Timed]
    wanted: Wanted
    memory_mhz: float | None = None
    """The memory's frequency, if the runs do not contain it."""
    memory_target_mhz: float | None = None
    memory_part: float = 1.0


def timed_runs_query(runs: Sequence[Timed], asked: FrequencyParameters) -> TimedRunsQuery:
    """The question of a request about runs. Raises `BadSelection`."""
    return TimedRunsQuery(runs, asked.of_cores, asked.memory_mhz, asked.memory_target_mhz, asked.memory_part)


def frequency_times_document(asked: TimedRunsQuery) -> Json:
    """The answer of /analysis/frequency-times. Raises `BadSelection`."""
    memories = [run.memory_mhz for run in asked.runs]
    if len(asked.runs) > MOST_RUNS:
        raise BadSelection(f"There are more than {MOST_RUNS:,} runs.", parameter="runs")
    if any(each is None for each in memories) and any(each is not None for each in memories):
        raise BadSelection("Some runs give the frequency of the memory, others do not.", parameter="runs")
    try:
        fit = from_runs(
            [run.mhz * 1e6 for run in asked.runs],
            [run.seconds for run in asked.runs],
            None if None in memories or not memories else [(each or 0) * 1e6 for each in memories],
        )
    except NotEstimable as error:
        return _document(asked, None, None, Unavailable(error.reason, str(error)))
    return _document(asked, fit, _change(asked, fit), None)


def _change(asked: TimedRunsQuery, fit: TimedRuns) -> MemoryChange | None:
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


def _document(
    asked: TimedRunsQuery, fit: TimedRuns | None, change: MemoryChange | None, unavailable: Unavailable | None
) -> Json:
    names = (
        *("on_chip_cycles", "fixed_seconds", "memory_cycles", "off_chip", "spread"),
        *("held_out_error", "naive_error"),
        *("lowest_mhz", "lowest_because", "lowest_at_memory_mhz", "lowest_at_memory_because"),
    )
    found: Json = {**dict.fromkeys(names), "clipped": False, "slowdowns": [], "rows": []}
    base, base_memory = asked.wanted.base_mhz, asked.memory_mhz
    limits: tuple[str, ...] = timed_runs.LIMITS
    if fit is not None:
        base = base or fit.base().hertz / 1e6
        base_memory = _known_mhz(fit) or base_memory
        limits += timed_runs.FITTED_MEMORY if fit.knows_memory else memory.LIMITS if change else ()
        found |= _fit_document(asked.wanted, fit, change, base)
    return {
        "runs": len(asked.runs),
        "base_mhz": base,
        "base_memory_mhz": base_memory,
        "performance": asked.wanted.performance,
        "memory": memory_document(None if fit is None or fit.knows_memory else change),
        "memory_target_mhz": asked.memory_target_mhz,
        **found,
        "limits": list(limits),
        "because": because_document(unavailable),
    }


def _fit_document(wanted: Wanted, fit: TimedRuns, change: MemoryChange | None, base_mhz: float) -> Json:
    """The results of a fit. A requirement that no frequency or every frequency meets has a null figure and a reason."""
    base = base_mhz * 1e6
    lowest, why = _lowest(fit, wanted.performance, base, None)
    other, other_why = (None, None) if change is None else _lowest(fit, wanted.performance, base, change)
    held = [each for each in fit.settings if each.held_out is not None and each.naive is not None]
    return {
        "on_chip_cycles": figure_document(fit.on_chip_cycles),
        "fixed_seconds": figure_document(fit.fixed_s),
        "memory_cycles": figure_document(fit.memory_cycles),
        "off_chip": figure_document(fit.off_chip_share(base)),
        "spread": fit.spread if isfinite(fit.spread) else None,
        "clipped": fit.clipped,
        "held_out_error": float(np.mean([abs(each.held_out or 0) for each in held])) if held else None,
        "naive_error": float(np.mean([abs(each.naive or 0) for each in held])) if held else None,
        "slowdowns": [
            {
                **slowdown_document(
                    mhz,
                    fit.slowdown(mhz * 1e6, base),
                    base_mhz / mhz - 1,
                    None if change is None else fit.slowdown(mhz * 1e6, base, change),
                ),
                "seconds": figure_document(fit.time(mhz * 1e6)),
            }
            for mhz in wanted.grid(base_mhz)
        ],
        "lowest_mhz": figure_document(lowest),
        "lowest_because": because_document(why),
        "lowest_at_memory_mhz": figure_document(other),
        "lowest_at_memory_because": because_document(other_why),
        "rows": [_setting(each) for each in fit.settings],
    }


def _lowest(
    fit: TimedRuns, performance: float, base: float, change: MemoryChange | None
) -> tuple[Measured | None, Unavailable | None]:
    """The lowest frequency in MHz, or the reason why there is none."""
    try:
        found = fit.lowest_frequency(performance, base, change)
    except NotEstimable as error:
        return None, Unavailable(error.reason, str(error))
    return Measured(found.value / 1e6, found.lo / 1e6, found.hi / 1e6), None


def _setting(each: Setting) -> Json:
    return {
        "mhz": each.hertz / 1e6,
        "memory_mhz": None if each.memory_hz is None else each.memory_hz / 1e6,
        "runs": each.runs,
        "seconds": each.seconds,
        "fitted": each.fitted,
        "held_out": each.held_out,
        "naive": each.naive,
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/frequency-times",
        summary="Slowdowns from times at several frequencies",
        description="Fits A/f + B to times measured at two or more frequencies: of a run, of a request, or of any "
        "constant work. With C/f_mem if the memory frequency also varied. The route reads no fleet data and "
        "takes no selection.",
        response_model=FrequencyTimesAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def frequency_times(
        request: Request,
        runs: Annotated[
            str,
            Query(
                max_length=_LONGEST_RUNS,
                description="MHz and seconds of each run, and the memory's MHz if it varies. Separate fields by colons "
                "and runs by commas.",
                examples=["1200:18.3,2400:10.1", "1200:18.3:2400,2400:10.1:2400,2400:9.7:3200"],
            ),
        ],
        frequencies: Frequencies,
    ) -> Response:
        def document() -> Json:
            return frequency_times_document(timed_runs_query(runs_of(runs), frequencies))

        return await handler.answer(request, _FORMS, document)
