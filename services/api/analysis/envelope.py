"""Parts of every model's answer: the selection, the inputs, and the reason for a missing answer."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite

from pydantic import Field

from analysis.measured import Measured
from services.api.answer import Answer, Json
from services.command_line.durations import parse_duration
from storage.errors import BadSelection
from storage.query.estimation.estimates import Interval
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time


class MachineSelectionEcho(Answer):
    """The selected machines and the time range."""

    start: str = Field(alias="from", description="RFC 3339, UTC; inclusive.")
    to: str = Field(description="RFC 3339, UTC; exclusive.")
    select: str = Field(examples=['{platform=~"AMD.*"}'])
    campaign: str = Field(examples=["fleet"])


class MissingCounter(Answer):
    """A counter that has no value in some visits."""

    name: str = Field(examples=["cycles"])
    status: str = Field(description="unsupported, denied, busy or not_counted.")
    errno: int
    platform: str
    visits: int


class InputsAnswer(Answer):
    """The data that an answer uses."""

    design: str = Field(
        description="random; none: visits by hand, which do not represent the fleet, or no visits were read."
    )
    covered_seconds: float = Field(
        description="Seconds of the requested range in which the campaign's rounds drew visits."
    )
    population: float = Field(
        description="Machines that the campaign draws from, as a mean over the covered time."
    )
    visits: int = Field(
        description="Ingested visits of the selection. 0 if none were read, because named experiments train the model."
    )
    used: int = Field(description="Number of these visits that have the data that the model needs.")
    missing: list[MissingCounter] = Field(description="Counters without a value, with the reason.")


class NoAnswerReason(Answer):
    """The reason why there is no answer."""

    reason: str = Field(
        description="too_little, not_a_number, constant, contradictory, unreachable, unbounded or not_random."
    )
    detail: str = Field(description="The reason as a sentence.")


class Figure(Answer):
    """A figure and its 95 % interval; an end is null where nothing bounds it."""

    value: float
    lo: float | None
    hi: float | None


def asked_document(selection: Selection) -> Json:
    """The parts of the selection that apply to machines."""
    return {
        "from": format_time(selection.start),
        "to": format_time(selection.end),
        "select": selection.select,
        "campaign": selection.campaign,
    }


def inputs_document(inputs: Inputs) -> Json:
    """The inputs of an answer."""
    coverage = inputs.coverage
    return {
        "design": "random" if coverage.random else "none",
        "covered_seconds": coverage.covered_s,
        "population": coverage.population,
        "visits": inputs.visits,
        "used": inputs.used,
        "missing": [
            {
                "name": failure.name,
                "status": failure.status,
                "errno": failure.errno,
                "platform": failure.platform,
                "visits": failure.visits,
            }
            for failure in inputs.missing
        ],
    }


def because_document(unavailable: Unavailable | None) -> Json | None:
    """The reason for a missing answer; None: there is an answer."""
    return None if unavailable is None else {"reason": unavailable.reason, "detail": unavailable.detail}


def figure_document(figure: Measured | Interval | None, factor: float = 1.0) -> Json | None:
    """The figure times `factor`; None if there is none or it is not finite."""
    if figure is None or not isfinite(figure.value):
        return None
    lo, hi = (end * factor if isfinite(end) else None for end in (figure.lo, figure.hi))
    return {"value": figure.value * factor, "lo": lo, "hi": hi}


def reasons_document(left_out: Mapping[str, int]) -> list[Json]:
    """Numbers of unusable visits by reason, the most frequent reason first."""
    ordered = sorted(left_out.items(), key=lambda item: (-item[1], item[0]))
    return [{"why": why, "visits": visits} for why, visits in ordered]


class LeftOut(Answer):
    """Visits that a model cannot use."""

    why: str
    visits: int


def moment(seconds: int) -> str:
    """Seconds since 1970 UTC as RFC 3339."""
    return format_time(datetime.fromtimestamp(seconds, UTC))


def step_of(text: str) -> int:
    """Seconds of a step; 0 for an empty text. Raises `BadSelection`."""
    try:
        return round(parse_duration(text)) if text else 0
    except ValueError as error:
        raise BadSelection(str(error), hint="Set step=1h or step=1d.", parameter="step") from error
