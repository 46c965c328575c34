"""Fits the time of applications as A/f + B to machines that run at several frequencies f (beyond DIGEST D1).

The fit needs neither latency nor misses: cycles, instructions and CPU time that were counted together give the time of
an instruction and its frequency. Each application is fitted on each platform separately, since the time of an
instruction differs between platforms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.dvfs import fleet_fit, memory
from analysis.dvfs.fleet_fit import Step, from_frequencies
from analysis.errors import NotEstimable
from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.frequency_fit import FrequencyFitAnswer, FrequencyFitRow, FrequencyStep
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.frequency_fit_inputs import FitInputs, read_fit_inputs
from storage.query.models.frequency_options import USUAL, Wanted, memory_of
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """The fits of a selection's applications."""

    selection: Selection
    wanted: Wanted = USUAL
    limit: int = 20

    def answer(self, reading: StoreReading) -> FrequencyFitAnswer:
        """The fits. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if not 1 <= self.limit <= MOST_ROWS:
            raise BadSelection(f"The number of rows must be from 1 to {MOST_ROWS}.", parameter="limit")
        found = read_fit_inputs(reading, self.selection)
        unavailable = _why_unavailable(found)
        rows, rows_total = ((), 0) if unavailable else _rows(found, self.wanted, self.limit)
        return FrequencyFitAnswer(
            selection=machine_selection_echo(self.selection),
            performance=self.wanted.performance,
            memory=memory_of(self.wanted.memory),
            rows=rows,
            rows_total=rows_total,
            limits=(*fleet_fit.LIMITS, *(memory.LIMITS if self.wanted.memory else ())),
            left_out=left_out(found.left_out),
            inputs=found.inputs,
            because=unavailable or _no_fit(rows, rows_total),
        )


def _no_fit(rows: Sequence[FrequencyFitRow], rows_total: int) -> Unavailable | None:
    """The reason if there are rows, but none of those shown has a fit; None: one has.

    It is the most common reason, with the sentence of the row with most CPU time among those that have it.
    """
    reasons = [row.because.reason for row in rows if row.because is not None]
    if not rows or any(row.base_mhz is not None for row in rows):
        return None
    most = max(reasons, key=reasons.count)
    first = next(row for row in rows if row.because is not None and row.because.reason == most)
    why = "" if first.because is None else first.because.detail
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


def _rows(found: FitInputs, wanted: Wanted, limit: int) -> tuple[tuple[FrequencyFitRow, ...], int]:
    """The fits of the pairs of an application and a platform with most CPU time, and the number of all pairs."""
    platforms = found.visits.names["platform"]
    platform = found.visits.values["platform"][found.visit]
    keys, of = np.unique(found.application * len(platforms) + platform, return_inverse=True)
    of = of.reshape(-1)
    seconds = np.bincount(of, weights=found.seconds * found.visits.weight[found.visit], minlength=len(keys))
    order = np.argsort(of, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(of, minlength=len(keys)))[:-1])
    rows: list[FrequencyFitRow] = []
    for place in np.argsort(-seconds, kind="stable")[:limit].tolist():
        query_budget.checkpoint()
        application, there = divmod(int(keys[place]), len(platforms))
        key = found.names[application], platforms[there]
        rows.append(_row(found, parts[place], key, float(seconds[place]), wanted))
    return tuple(rows), len(keys)


def _row(
    found: FitInputs, pairs: Int64, key: tuple[str, str], seconds: float, wanted: Wanted
) -> FrequencyFitRow:
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
        return FrequencyFitRow(
            *key,
            seconds,
            *counts,
            base_mhz=None,
            off_chip=None,
            on_chip_cpi=None,
            waiting_ns=None,
            slowdowns=(),
            lowest_mhz=None,
            lowest_at_memory_mhz=None,
            lowest_at_memory_because=None,
            steps=(),
            load_correlation=None,
            clipped=False,
            low_confidence=True,
            because=Unavailable(error.reason, str(error)),
        )
    model = fit.sensitivity
    base = model.base_hz / 1e6
    lowest, unavailable = wanted.lowest(model)
    other, other_unavailable = wanted.lowest_at_memory(model)
    return FrequencyFitRow(
        *key,
        seconds,
        *counts,
        base_mhz=base,
        off_chip=figure(model.off_chip_share),
        on_chip_cpi=figure(fit.on_chip_cycles),
        waiting_ns=figure(fit.waiting_s, 1e9),
        slowdowns=wanted.slowdowns(model, base),
        lowest_mhz=figure(lowest),
        lowest_at_memory_mhz=figure(other),
        lowest_at_memory_because=other_unavailable,
        steps=tuple(map(_step, fit.steps)),
        load_correlation=fit.load_correlation,
        clipped=fit.clipped,
        low_confidence=model.low_confidence,
        because=unavailable,
    )


def _step(step: Step) -> FrequencyStep:
    return FrequencyStep(
        mhz=step.hertz / 1e6,
        visits=step.visits,
        machines=step.machines,
        ns_per_instruction=step.seconds * 1e9,
        fitted=step.fitted * 1e9,
        held_out=step.held_out,
        naive=step.naive,
    )
