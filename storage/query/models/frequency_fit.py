"""Fits the time of applications as A/f + B to machines that run at several frequencies f (beyond DIGEST D1).

The fit needs neither latency nor misses: cycles, instructions and CPU time that were counted together give the time of
an instruction and its frequency. Each application is fitted on each platform separately, since the time of an
instruction differs between platforms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.dvfs import fleet_fit, memory
from analysis.dvfs.fleet_fit import FleetFit, from_frequencies
from analysis.dvfs.memory import MemoryChange
from analysis.errors import NotEstimable
from analysis.measured import Measured
from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.models.frequency_fit_inputs import FitInputs, read_fit_inputs
from storage.query.models.frequency_options import USUAL, Wanted
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class FittedSlowdown:
    """The slowdown at one frequency."""

    mhz: float
    slowdown: Measured
    """Time ratio − 1."""
    naive: float
    """Slowdown if all time were on the chip."""
    at_memory: Measured | None
    """Slowdown with the requested frequency of the memory; None: none was requested."""


@dataclass(frozen=True, slots=True)
class FitRow:
    """One application on one platform."""

    application: str
    platform: str
    cpu_seconds: float
    """CPU time of the fleet in the covered time, as far as it was counted."""
    visits: int
    machines: int
    fit: FleetFit | None
    """None: `unavailable` says why."""
    slowdowns: tuple[FittedSlowdown, ...]
    lowest_mhz: Measured | None
    """Lowest frequency that keeps the requested performance; `hi` is ∞ if an end of the interval has none."""
    lowest_at_memory_mhz: Measured | None
    """The same with the requested frequency of the memory."""
    unavailable: Unavailable | None
    unavailable_at_memory: Unavailable | None = None
    """The reason why there is no lowest frequency with that memory, if one was requested and there is a fit."""


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """The rows with most CPU time, or the reason why there are none."""

    performance: float
    change: MemoryChange | None
    rows: tuple[FitRow, ...]
    rows_total: int
    limits: tuple[str, ...]
    """The limits of the model."""
    inputs: Inputs
    left_out: Mapping[str, int]
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """The fits of a selection's applications."""

    selection: Selection
    wanted: Wanted = USUAL
    limit: int = 20

    def answer(self, reading: StoreReading) -> FitAnswer:
        """The fits. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if not 1 <= self.limit <= MOST_ROWS:
            raise BadSelection(f"The number of rows must be from 1 to {MOST_ROWS}.", parameter="limit")
        found = read_fit_inputs(reading, self.selection)
        unavailable = _why_unavailable(found)
        rows, rows_total = ((), 0) if unavailable else _rows(found, self.wanted, self.limit)
        return FitAnswer(
            performance=self.wanted.performance,
            change=self.wanted.memory,
            rows=rows,
            rows_total=rows_total,
            limits=(*fleet_fit.LIMITS, *(memory.LIMITS if self.wanted.memory else ())),
            inputs=found.inputs,
            left_out=found.left_out,
            unavailable=unavailable or _no_fit(rows, rows_total),
        )


def _no_fit(rows: Sequence[FitRow], rows_total: int) -> Unavailable | None:
    """The reason if there are rows, but none of those shown has a fit; None: one has.

    It is the most common reason, with the sentence of the row with most CPU time among those that have it.
    """
    reasons = [row.unavailable.reason for row in rows if row.unavailable is not None]
    if not rows or any(row.fit is not None for row in rows):
        return None
    most = max(reasons, key=reasons.count)
    first = next(row for row in rows if row.unavailable is not None and row.unavailable.reason == most)
    why = "" if first.unavailable is None else first.unavailable.detail
    return Unavailable(
        most,
        f"None of {len(rows):,} rows (of {rows_total:,}) has a fit; {first.application or '(none)'} "
        f"on {first.platform or 'an unknown platform'}: {why}",
    )


def _why_unavailable(found: FitInputs) -> Unavailable | None:
    if not len(found.visits):
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if found.visits.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    if not len(found.visit):
        return Unavailable(
            "too_little",
            "No visit has cycles, instructions and CPU time of an application. Count control groups:"
            " fleetprof campaigns set … --cgroups 16.",
        )
    return None


def _rows(found: FitInputs, wanted: Wanted, limit: int) -> tuple[tuple[FitRow, ...], int]:
    """The fits of the pairs of an application and a platform with most CPU time, and the number of all pairs."""
    platforms = found.visits.names["platform"]
    platform = found.visits.values["platform"][found.visit]
    keys, of = np.unique(found.application * len(platforms) + platform, return_inverse=True)
    of = of.reshape(-1)
    seconds = np.bincount(of, weights=found.seconds * found.visits.weight[found.visit], minlength=len(keys))
    order = np.argsort(of, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(of, minlength=len(keys)))[:-1])
    rows: list[FitRow] = []
    for place in np.argsort(-seconds, kind="stable")[:limit].tolist():
        query_budget.checkpoint()
        application, there = divmod(int(keys[place]), len(platforms))
        key = found.names[application], platforms[there]
        rows.append(_row(found, parts[place], key, float(seconds[place]), wanted))
    return tuple(rows), len(keys)


def _row(found: FitInputs, pairs: Int64, key: tuple[str, str], seconds: float, wanted: Wanted) -> FitRow:
    at = found.visit[pairs]
    machine = found.visits.values["machine"][at]
    counts = len(pairs), len(np.unique(machine))
    try:
        fit = from_frequencies(
            found.visits.weight[at],
            machine,
            seconds=found.seconds[pairs],
            cycles=found.cycles[pairs],
            instructions=found.instructions[pairs],
            base_hz=None if wanted.base_mhz is None else wanted.base_mhz * 1e6,
            load=found.load[at],
        )
    except NotEstimable as error:
        return FitRow(*key, seconds, *counts, None, (), None, None, Unavailable(error.reason, str(error)))
    model = fit.sensitivity
    base = model.base_hz / 1e6
    waiting = None if wanted.memory is None else wanted.memory.waiting
    slowdowns = tuple(
        FittedSlowdown(
            mhz,
            model.slowdown(mhz * 1e6),
            base / mhz - 1,
            None if waiting is None else model.slowdown(mhz * 1e6, waiting),
        )
        for mhz in wanted.grid(base)
    )
    lowest, unavailable = wanted.lowest(model)
    other, other_unavailable = wanted.lowest_at_memory(model)
    return FitRow(*key, seconds, *counts, fit, slowdowns, lowest, other, unavailable, other_unavailable)
