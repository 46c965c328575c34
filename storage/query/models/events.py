"""Which events decide how fast an application runs, and which parameter moves them (DIGEST M1-M8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.errors import CannotSay
from storage.errors import BadSelection
from storage.query.models.event_inputs import EventInputs, read_event_inputs, varies
from storage.query.models.interference import refuse_applications
from storage.query.models.told import Inputs, Unsaid
from storage.query.reader import StoreReading
from storage.query.selections.selection import Selection
from storage.snapshots import budget

if TYPE_CHECKING:
    from analysis.event_mining.coupling import Coupling
    from analysis.event_mining.mining import Mined

_SEED = 1
"""One question has one answer."""
_LEAST_COUPLED = 50
_MOST_COUPLED = 10


@dataclass(frozen=True, slots=True)
class EventsAnswer:
    """The most accurate model of an application's IPC, or why there is none."""

    application: str
    mined: "Mined | None"
    dominating: tuple[str, ...]
    """Events that stand out, one to three; (): importance falls off evenly."""
    coupling: "Coupling | None"
    coupling_unsaid: Unsaid | None
    inputs: Inputs
    left_out: Mapping[str, int]
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class EventsQuestion:
    """The events of an application, from visits in which it has most of a machine's CPU time."""

    selection: Selection
    application: str
    least_share: float = 0.8
    """Of a machine's CPU time: what is counted of the machine is then nearly the application's."""

    def answer(self, reading: StoreReading) -> EventsAnswer:
        """The events. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_event_inputs(reading, self.selection, self.application, self.least_share)
        mined, dominating, unsaid = _mined(self, found)
        coupling, coupling_unsaid = _coupled(found, mined) if mined else (None, None)
        return EventsAnswer(
            application=self.application,
            mined=mined,
            dominating=dominating,
            coupling=coupling,
            coupling_unsaid=coupling_unsaid,
            inputs=found.inputs,
            left_out=found.left_out,
            unsaid=unsaid,
        )


def _check(question: EventsQuestion) -> None:
    refuse_applications(question.selection)
    if not question.application:
        raise BadSelection("Whose events are wanted?", hint="target=checkout, for example.")
    if not 0.5 <= question.least_share <= 1:
        raise BadSelection("The least share of a machine's CPU time is 0.5 to 1.")


def _mined(
    question: EventsQuestion, found: EventInputs
) -> "tuple[Mined | None, tuple[str, ...], Unsaid | None]":
    # scikit-learn takes a second to import, which no other question needs.
    from analysis.event_mining.findings import dominating  # noqa: PLC0415
    from analysis.event_mining.fusion import Run, fuse  # noqa: PLC0415
    from analysis.event_mining.mining import mine  # noqa: PLC0415

    if not found.inputs.visits:
        return None, (), Unsaid("too_little", "No visit of the selection has landed.")
    if not len(found.ipc):
        why = max(found.left_out, key=found.left_out.__getitem__)
        return (
            None,
            (),
            Unsaid(
                "too_little",
                f"No visit can be used; of most, {why}. {question.application} needs machines to itself, and a campaign that "
                "counts events there: fleetprof campaigns set … --counter l2-misses --counter dtlb-misses.",
            ),
        )
    runs = []
    for number in range(int(found.run.max()) + 1):
        budget.checkpoint()
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
    except CannotSay as error:
        return None, (), Unsaid(error.reason, str(error))
    return mined, tuple(event.name for event in dominating(mined)), None


def _coupled(found: EventInputs, mined: "Mined") -> "tuple[Coupling | None, Unsaid | None]":
    """Parameters by the top events, as many of these as enough intervals counted together."""
    from analysis.event_mining.coupling import couple  # noqa: PLC0415 - as above

    ranked = [found.events.index(event.name) for event in mined.ranking[:_MOST_COUPLED]]
    counted = np.isfinite(found.values)
    for most in range(len(ranked), 0, -1):
        rows = np.flatnonzero(counted[:, ranked[:most]].all(axis=1))
        if len(rows) >= _LEAST_COUPLED:
            break
    parameters = {name: column[rows] for name, column in found.parameters.items() if varies(column[rows])}
    if not parameters:
        return None, Unsaid(
            "constant", "All machines were set up alike: no parameter can be coupled to an event."
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
    except CannotSay as error:
        return None, Unsaid(error.reason, str(error))
