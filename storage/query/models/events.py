"""The events that determine how fast an application runs, and the parameters that affect them (DIGEST M1-M8)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.errors import NotEstimable
from storage.errors import BadSelection
from storage.query.answers.events import CoupledPair, EventRow, EventsAnswer, MiningStep
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.event_inputs import EventInputs, read_event_inputs, varies
from storage.query.models.interference import refuse_applications
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

if TYPE_CHECKING:
    from analysis.event_mining.coupling import Coupling
    from analysis.event_mining.mining import Mined

_SEED = 1
"""Equal queries have equal results."""
_LEAST_COUPLED = 50
_MOST_COUPLED = 10


@dataclass(frozen=True, slots=True)
class EventsQuestion:
    """The events of an application, from visits in which it has most of a machine's CPU time."""

    selection: Selection
    application: str
    least_share: float = 0.8
    """Least share of a machine's CPU time: the machine's counts are then nearly the application's."""

    def answer(self, reading: StoreReading) -> EventsAnswer:
        """The events. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_event_inputs(reading, self.selection, self.application, self.least_share)
        mined, dominating, because = _mined(self, found)
        coupling, coupling_because = _coupled(found, mined) if mined else (None, None)
        rows = _rows(mined, dominating) if mined else ()
        return EventsAnswer(
            selection=machine_selection_echo(self.selection),
            application=self.application,
            rows=rows,
            rows_total=len(rows),
            steps=tuple(MiningStep(step.events, step.error) for step in mined.steps) if mined else (),
            error=mined.error if mined else None,
            all_events_error=mined.all_events_error if mined else None,
            baseline_error=mined.baseline_error if mined else None,
            intervals=mined.intervals if mined else 0,
            runs=mined.runs if mined else 0,
            pairs=_pairs(coupling) if coupling else (),
            tune=coupling.tune if coupling else None,
            coupling_because=coupling_because,
            left_out=left_out(found.left_out),
            inputs=found.inputs,
            because=because,
        )


def _check(question: EventsQuestion) -> None:
    refuse_applications(question.selection)
    if not question.application:
        raise BadSelection("The target application is missing.", hint="target=checkout, for example.")
    if not 0.5 <= question.least_share <= 1:
        raise BadSelection("The least share of a machine's CPU time must be from 0.5 to 1.")


def _rows(mined: "Mined", dominating: tuple[str, ...]) -> tuple[EventRow, ...]:
    """The events; `dominating` are the one to three that stand out, none if importance declines evenly."""
    return tuple(
        EventRow(event.name, event.importance, event.counted, dominates=event.name in dominating)
        for event in mined.ranking
    )


def _pairs(coupling: "Coupling") -> tuple[CoupledPair, ...]:
    return tuple(
        CoupledPair(pair.event, pair.parameter, pair.coupling, pair.dependence, pair.significant)
        for pair in coupling.pairs
    )


def _mined(
    question: EventsQuestion, found: EventInputs
) -> "tuple[Mined | None, tuple[str, ...], Unavailable | None]":
    # scikit-learn takes a second to import, and only this query needs it.
    from analysis.event_mining.findings import dominating  # noqa: PLC0415
    from analysis.event_mining.fusion import Run, fuse  # noqa: PLC0415
    from analysis.event_mining.mining import mine  # noqa: PLC0415

    if not found.inputs.visits:
        return None, (), Unavailable("too_little", "No visit of the selection has been ingested.")
    if not len(found.ipc):
        why = max(found.left_out, key=found.left_out.__getitem__)
        return (
            None,
            (),
            Unavailable(
                "too_little",
                f"No visit can be used. Most frequent reason: {why}. {question.application} needs "
                "machines of its own, and a campaign that counts events there: fleetprof campaigns "
                "set … --counter l2-misses --counter dtlb-misses.",
            ),
        )
    runs = []
    for number in range(int(found.run.max()) + 1):
        query_budget.checkpoint()
        rows = np.flatnonzero(found.run == number)
        columns = np.flatnonzero(np.isfinite(found.values[rows[0]]))
        runs.append(
            Run(
                tuple(found.events[column] for column in columns.tolist()),
                found.values[np.ix_(rows, columns)],
                found.ipc[rows],
            )
        )
    try:
        mined = mine(fuse(runs), seed=_SEED)
    except NotEstimable as error:
        return None, (), Unavailable(error.reason, str(error))
    return mined, tuple(event.name for event in dominating(mined)), None


def _coupled(found: EventInputs, mined: "Mined") -> "tuple[Coupling | None, Unavailable | None]":
    """Couples parameters with the top events: as many of these as enough intervals counted together."""
    from analysis.event_mining.coupling import couple  # noqa: PLC0415 - as above

    ranked = [found.events.index(event.name) for event in mined.ranking[:_MOST_COUPLED]]
    counted = np.isfinite(found.values)
    for most in range(len(ranked), 0, -1):
        rows = np.flatnonzero(counted[:, ranked[:most]].all(axis=1))
        if len(rows) >= _LEAST_COUPLED:
            break
    parameters = {name: column[rows] for name, column in found.parameters.items() if varies(column[rows])}
    if not parameters:
        return None, Unavailable(
            "constant", "All machines have the same settings, so no parameter can be coupled to an event."
        )
    try:
        return (
            couple(
                {found.events[place]: found.values[rows, place] for place in ranked[:most]},
                parameters,
                found.seconds[rows],
                seed=_SEED,
            ),
            None,
        )
    except NotEstimable as error:
        return None, Unavailable(error.reason, str(error))
