"""The answer of the events that determine an application's instructions per cycle."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.inputs import Because, Inputs, LeftOut, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho


@dataclass(frozen=True, slots=True)
class EventRow(Answer):
    """One event of the most accurate model."""

    event: str
    importance: Annotated[
        float, Field(description="Share of the model's splits, 0…1. All events of the model add up to 1.")
    ]
    counted: Annotated[float, Field(description="Share of the intervals in which it was counted, 0…1.")]
    dominates: Annotated[
        bool,
        Field(description="One of the first one to three events, before the steepest drop in importance."),
    ]


@dataclass(frozen=True, slots=True)
class MiningStep(Answer):
    """One model of the selection steps."""

    events: int
    error: Annotated[
        float, Field(description="Mean relative error of IPC on the runs used to select events.")
    ]


@dataclass(frozen=True, slots=True)
class CoupledPair(Answer):
    """An event and a parameter."""

    event: str
    parameter: str
    coupling: Annotated[float, Field(description="Dependence × importance of the event, 0…1.")]
    dependence: Annotated[
        float, Field(description="Share of the event's rank variance that is between settings, 0…1.")
    ]
    significant: bool


@dataclass(frozen=True, slots=True)
class EventsAnswer(Answer):
    """The events that an application's instructions per cycle depend on."""

    selection: MachineSelectionEcho
    application: str
    rows: Annotated[tuple[EventRow, ...], Field(description="Most important first.")]
    rows_total: int
    steps: Annotated[
        tuple[MiningStep, ...], Field(description="Selection steps, from all events to few events.")
    ]
    error: Annotated[float | None, Field(description="Mean relative error of IPC on new runs.")]
    all_events_error: float | None
    baseline_error: Annotated[
        float | None, Field(description="Mean relative error if the prediction is always the mean IPC.")
    ]
    intervals: int
    runs: Annotated[
        int,
        Field(description="Number of runs. Visits of one machine that counted the same events are one run."),
    ]
    pairs: Annotated[tuple[CoupledPair, ...], Field(description="Strongest coupling first.")]
    tune: Annotated[str | None, Field(description="Parameter of the strongest significant pair.")]
    coupling_because: Annotated[Unavailable | None, Field(description="The reason why no pair is coupled.")]
    left_out: tuple[LeftOut, ...]
    inputs: Inputs
    because: Because
