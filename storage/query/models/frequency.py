"""How much longer applications would take at lower frequencies, from the fleet's own samples (DIGEST D1-D8).

A visit says how long an application ran, at which frequency the machine's busy CPUs ran meanwhile, and by samples of `llc-misses`
how often it went to memory; what a miss costs is a figure of the platform (`storage.calibrations`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.dvfs import memory
from analysis.dvfs.frequency_model import LIMITS
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.one_run import from_visits
from analysis.errors import CannotSay
from analysis.measured import Measured
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.arrays import Int64
from storage.query.models.frequency_asked import USUAL, Wanted
from storage.query.models.frequency_inputs import FrequencyInputs, read_frequency_inputs
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.machines import APPLICATION
from storage.query.reader import Reading
from storage.query.selections.selection import Selection

MOST_APPLICATIONS = 1_000


@dataclass(frozen=True, slots=True)
class FrequencyRow:
    """One application."""

    application: str
    cpu_seconds: float
    """Of the fleet in the covered time, by the visits that the model can use."""
    visits: int
    off_chip: Measured | None
    """Share of its time at the base frequency that waits for memory; None: `unsaid` says why, as for the next two."""
    slowdowns: tuple[Measured, ...]
    """Time ratio − 1 at each of the answer's frequencies."""
    at_memory: tuple[Measured, ...]
    """The same with the asked frequency of the memory; () where none was asked for."""
    lowest_mhz: Measured | None
    """Lowest frequency that keeps the wanted performance; `hi` is ∞ where an end of the interval has none."""
    lowest_at_memory_mhz: Measured | None
    """The same with the asked frequency of the memory."""
    few: bool
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class FrequencyAnswer:
    """The applications with most CPU time, or why there is none."""

    base_mhz: float | None
    frequencies_mhz: tuple[float, ...]
    naive: tuple[float, ...]
    """Slowdowns at these if all time were on the chip."""
    performance: float
    change: MemoryChange | None
    """Of the memory's frequency, where another was asked for."""
    rows: tuple[FrequencyRow, ...]
    rows_total: int
    latencies: tuple[Calibration, ...]
    limits: tuple[str, ...]
    """What the model leaves out."""
    inputs: Inputs
    left_out: Mapping[str, int]
    """Visits that say nothing of it, by why."""
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class FrequencyQuestion:
    """Slowdowns at some frequencies, and the lowest that keeps a performance."""

    selection: Selection
    wanted: Wanted = USUAL
    """Base None: the mean at which the busy CPUs of the visits ran."""
    latency_ns: float | None = None
    """Of a miss, for platforms that have no figure of their own; None: these are left out."""
    limit: int = 20

    def answer(self, reading: Reading) -> FrequencyAnswer:
        """The slowdowns. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_frequency_inputs(reading, self.selection, self.latency_ns)
        unsaid = _unsaid(found)
        base = self.wanted.base_mhz
        if base is None and unsaid is None:
            there = found.usable
            base = float(np.average(found.hertz[there], weights=found.visits.weight[there])) / 1e6
        grid = self.wanted.frequencies_mhz if base is None else self.wanted.grid(base)
        rows: list[FrequencyRow] = []
        if unsaid is None and base is not None:
            rows = _rows(self, found, base, grid)
        return FrequencyAnswer(
            base_mhz=base,
            frequencies_mhz=grid,
            naive=() if base is None else tuple(base / mhz - 1 for mhz in grid),
            performance=self.wanted.performance,
            change=self.wanted.memory,
            rows=tuple(rows[: self.limit]),
            rows_total=len(rows),
            latencies=found.latencies,
            limits=(*LIMITS, *(memory.LIMITS if self.wanted.memory else ())),
            inputs=Inputs(found.visits.coverage, len(found.visits), int(found.usable.sum())),
            left_out=found.left_out,
            unsaid=unsaid,
        )


def _check(question: FrequencyQuestion) -> None:
    if question.latency_ns is not None and not 1 <= question.latency_ns <= 10_000:
        raise BadSelection("A miss takes between 1 and 10000 ns.", hint="latency_ns=90, for example.")


def _unsaid(found: FrequencyInputs) -> Unsaid | None:
    if not len(found.visits):
        return Unsaid("too_little", "No visit of the selection has landed.")
    if found.visits.weights is None:
        return Unsaid("not_random", "Visits by hand are no random sample, so they say nothing of the fleet.")
    if not found.usable.any():
        why = max(found.left_out, key=found.left_out.__getitem__)
        return Unsaid(
            "too_little",
            f"No visit has all that is needed; of most, {why}. Sample llc-misses beside cpu, and run: fleetprof calibrate memory.",
        )
    return None


def _rows(
    question: FrequencyQuestion, found: FrequencyInputs, base: float, grid: tuple[float, ...]
) -> list[FrequencyRow]:
    """All applications that the matchers leave, most CPU time first."""
    matchers = [matcher for matcher in question.selection.matchers if matcher.label == APPLICATION]
    names, of = np.unique(found.application, return_inverse=True)
    seconds = np.bincount(of, weights=found.seconds * found.visits.weight[found.visit], minlength=len(names))
    rows: list[FrequencyRow] = []
    for place in np.argsort(-seconds, kind="stable").tolist():
        name = str(names[place])
        if any(matcher.positive()(name) == matcher.operator.negative for matcher in matchers):
            continue
        pairs = np.flatnonzero(of == place)
        if len(rows) < question.limit:
            rows.append(_row(question, found, pairs, name, float(seconds[place]), base, grid))
        else:  # only counted
            rows.append(
                FrequencyRow(name, float(seconds[place]), len(pairs), None, (), (), None, None, False, None)
            )
    return rows


def _row(  # noqa: PLR0917 - a loop's body
    question: FrequencyQuestion,
    found: FrequencyInputs,
    pairs: Int64,
    name: str,
    seconds: float,
    base: float,
    grid: tuple[float, ...],
) -> FrequencyRow:
    weights = found.visits.weights
    if weights is None:
        raise TypeError("visits without weights have no estimates")
    at = found.visit[pairs]
    try:
        model = from_visits(
            found.visits.weight[at],
            found.visits.group[at],
            weights,
            seconds=found.seconds[pairs],
            hertz=found.hertz[at],
            misses=found.misses[pairs],
            latency_s=found.latency_s[at],
            base_hz=base * 1e6,
        )
        slowdowns = tuple(model.slowdown(mhz * 1e6) for mhz in grid)
    except CannotSay as error:
        because = Unsaid(error.reason, str(error))
        return FrequencyRow(name, seconds, len(pairs), None, (), (), None, None, True, because)
    wanted = question.wanted
    lowest, unsaid = wanted.lowest(model)
    at_memory: tuple[Measured, ...] = ()
    other: Measured | None = None
    if wanted.memory is not None:
        at_memory = tuple(model.slowdown(mhz * 1e6, wanted.memory.waiting) for mhz in grid)
        other, _ = wanted.lowest(model, wanted.memory.waiting)
    return FrequencyRow(
        name,
        seconds,
        model.visits,
        model.off_chip_share,
        slowdowns,
        at_memory,
        lowest,
        other,
        model.few,
        unsaid,
    )
