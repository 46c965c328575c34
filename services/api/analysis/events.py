"""The events that determine an application's instructions per cycle: /analysis/events."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.analysis.envelope import LeftOut, NoAnswerReason, because_document, reasons_document
from services.api.analysis.model_answers import OfMachines, of_machines
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.events import EventsAnswer as FoundEvents
from storage.query.models.events import EventsQuestion
from storage.query.selections.selection import Selection


class EventRow(Answer):
    """One event of the most accurate model."""

    event: str
    importance: float = Field(
        description="Share of the model's splits, 0…1. All events of the model add up to 1."
    )
    counted: float = Field(description="Share of the intervals in which it was counted, 0…1.")
    dominates: bool = Field(
        description="One of the first one to three events, before the steepest drop in importance."
    )


class MiningStep(Answer):
    """One model of the selection steps."""

    events: int
    error: float = Field(description="Mean relative error of IPC on the runs used to select events.")


class CoupledPair(Answer):
    """An event and a parameter."""

    event: str
    parameter: str
    coupling: float = Field(description="Dependence × importance of the event, 0…1.")
    dependence: float = Field(description="Share of the event's rank variance that is between settings, 0…1.")
    significant: bool


class EventsAnswer(OfMachines):
    """The events that an application's instructions per cycle depend on."""

    application: str
    rows: list[EventRow] = Field(description="Most important first.")
    rows_total: int
    steps: list[MiningStep] = Field(description="Selection steps, from all events to few events.")
    error: float | None = Field(description="Mean relative error of IPC on new runs.")
    all_events_error: float | None
    baseline_error: float | None = Field(
        description="Mean relative error if the prediction is always the mean IPC."
    )
    intervals: int
    runs: int = Field(
        description="Number of runs. Visits of one machine that counted the same events are one run."
    )
    pairs: list[CoupledPair] = Field(description="Strongest coupling first.")
    tune: str | None = Field(description="Parameter of the strongest significant pair.")
    coupling_because: NoAnswerReason | None = Field(description="The reason why no pair is coupled.")
    left_out: list[LeftOut]


_FORMS = forms_of(EventsAnswer, "rows")


def events_document(selection: Selection, found: FoundEvents) -> Json:
    """The answer of /analysis/events."""
    mined, coupling = found.mined, found.coupling
    figures = {
        "application": found.application,
        "rows": [
            {
                "event": event.name,
                "importance": event.importance,
                "counted": event.counted,
                "dominates": event.name in found.dominating,
            }
            for event in (mined.ranking if mined else ())
        ],
        "rows_total": len(mined.ranking) if mined else 0,
        "steps": [{"events": step.events, "error": step.error} for step in (mined.steps if mined else ())],
        "error": mined and mined.error,
        "all_events_error": mined and mined.all_events_error,
        "baseline_error": mined and mined.baseline_error,
        "intervals": mined.intervals if mined else 0,
        "runs": mined.runs if mined else 0,
        "pairs": [
            {
                "event": pair.event,
                "parameter": pair.parameter,
                "coupling": pair.coupling,
                "dependence": pair.dependence,
                "significant": pair.significant,
            }
            for pair in (coupling.pairs if coupling else ())
        ],
        "tune": coupling and coupling.tune,
        "coupling_because": because_document(found.coupling_unavailable),
        "left_out": reasons_document(found.left_out),
    }
    return of_machines(selection, found.inputs, found.unavailable, figures)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/events",
        summary="Events that determine an application's speed",
        description="Gradient-boosted trees predict an application's instructions per cycle from the counted events. "
        "The least important events are removed step by step. The answer also has the machine parameter "
        "that moves the most important events.",
        response_model=EventsAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def events(
        request: Request,
        selection: Selected,
        target: Annotated[
            str, Query(min_length=1, max_length=500, description="The application to explain.")
        ],
        least_share: Annotated[
            float,
            Query(
                ge=0.5,
                le=1,
                description="Smallest share of a machine's CPU time that the application must have in a visit.",
            ),
        ] = 0.8,
    ) -> Response:
        def document() -> Json:
            return events_document(
                selection, handler.queries.ask(EventsQuestion(selection, target, least_share))
            )

        return await handler.answer(request, _FORMS, document)
