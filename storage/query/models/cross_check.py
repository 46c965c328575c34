"""Compares CPU time by samples with the machines' own accounting, by datacenter (DIGEST G29).

Both are from the same visits: the samples' nanoseconds, and the kernel's busy time, for the part of the window in which
the event was watched. Their ratio should be 1.
"""

from dataclasses import dataclass

import numpy as np

from analysis.cross_check import TOLERANCE, CrossCheck, cross_checks
from storage.arrays import weight_at
from storage.errors import BadSelection
from storage.query.answers.cross_check import CrossCheckAnswer, CrossCheckRow
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.facts.visit_scan import TIME_UNIT, sample_type_of
from storage.query.observed.machine_cpus import read_machine_cpus
from storage.query.observed.machines import LABELS, read_machine_visits
from storage.query.observed.time_used import read_time_used
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class CrossCheckQuestion:
    """Sampled and accounted time by a label of machines."""

    selection: Selection
    by: str = "datacenter"

    def answer(self, reading: StoreReading) -> CrossCheckAnswer:
        """All values by descending accounted time. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        connection = reading.connection
        if sample_type_of(connection, self.selection).unit != TIME_UNIT:
            raise BadSelection(
                f"{self.selection.event!r} does not count time, so it cannot be compared with CPU time.",
                hint="event=cpu",
            )
        visits = read_machine_visits(connection, self.selection)
        cpus = read_machine_cpus(connection, self.selection, visits)
        used = read_time_used(connection, self.selection, visits)
        known = (cpus.accounted_s > 0) & (visits.group >= 0)
        # Of the window, the part in which the event was watched.
        length = cpus.window_s
        monitored = cpus.busy_s * np.divide(
            visits.seconds, length, out=np.zeros(len(visits)), where=length > 0
        )
        sampled = weight_at(used.visit, used.seconds, len(visits))
        inputs = inputs_of(visits.coverage, len(visits), int(known.sum()))
        if visits.weights is None or not known.any():
            return self._answer((), inputs, _why_unavailable(len(visits), random=visits.weights is not None))
        names = visits.names[self.by]
        found = cross_checks(
            visits.weight[known],
            visits.group[known],
            visits.weights,
            datacenter=visits.values[self.by][known],
            sampled=sampled[known],
            monitored=monitored[known],
            datacenters=len(names),
        )
        rows = [_row(name, row) for name, row in zip(names, found, strict=True) if row.visits]
        rows.sort(key=lambda row: (-row.monitored_core_seconds, row.value))
        return self._answer(tuple(rows), inputs, None)

    def _answer(
        self, rows: tuple[CrossCheckRow, ...], inputs: Inputs, because: Unavailable | None
    ) -> CrossCheckAnswer:
        return CrossCheckAnswer(
            selection=machine_selection_echo(self.selection),
            by=self.by,
            tolerance=TOLERANCE,
            rows=rows,
            inputs=inputs,
            because=because,
        )


def _row(value: str, found: CrossCheck) -> CrossCheckRow:
    ratio = figure(found.ratio)
    return CrossCheckRow(
        value=value,
        sampled_core_seconds=found.sampled,
        monitored_core_seconds=found.monitored,
        ratio=ratio,
        discrepancy=None if ratio is None else ratio.value - 1,
        verdict=found.verdict.value,
        visits=found.visits,
    )


def _check(question: CrossCheckQuestion) -> None:
    if question.by not in LABELS:
        raise BadSelection(
            f"Machines cannot be grouped by {question.by!r}.", hint=f"by= one of {', '.join(LABELS)}."
        )
    if any(matcher.label == APPLICATION for matcher in question.selection.matchers):
        raise BadSelection(
            "The machines' CPU accounting has no applications.",
            hint="Remove the matcher on application.",
        )


def _why_unavailable(visits: int, *, random: bool) -> Unavailable:
    if not visits:
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if not random:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    return Unavailable("too_little", "No visit has the busy time of its logical CPUs.")
