"""Changes of a campaign: omitted fields keep their values, and a new campaign begins as the default one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection

from collector.default_campaign import DEFAULT_CAMPAIGN
from collector.event_names import COUNTS_TIME
from collector.plan import checked
from services.fleet.errors import BadCampaign, DrawsNothing
from storage import campaigns
from storage.campaigns import BY_HAND, Campaign, Counted, Definition, EventPlan
from storage.errors import UnknownCampaign

LONGEST_NAME: Final = 100
LATER_PACE: Final = (
    "The new density of visits applies from the next full hour on. Every hour has one density, which is part of its "
    "strata, so results stay unbiased (docs/numbers.md)."
)


@dataclass(frozen=True, slots=True)
class CampaignChanges:
    """Fields of `Definition` to change; None: unchanged."""

    period_s: float | None = None
    visits_per_round: float | None = None
    events: tuple[EventPlan, ...] | None = None
    """Replaces all events, with their durations and rates."""
    duration_s: float | None = None
    """Of every event."""
    rate_hz: float | None = None
    """Of the events that are sampled by time."""
    counted_events: tuple[str, ...] | None = None
    counted_cgroups: int | None = None
    select_machines: Mapping[str, str] | None = None
    failure_threshold: float | None = None
    failure_window: int | None = None


def definition_of(connection: Connection, name: str) -> tuple[Definition, Campaign | None]:
    """The campaign's definition with the campaign; for a new one the default definition with this name, and None.

    Raises `BadCampaign` if no campaign may have this name, and `DrawsNothing` for the campaign of visits by hand.
    """
    if name == BY_HAND:
        raise DrawsNothing(f"Campaign {BY_HAND} contains only manual visits and draws none; it has no plan.")
    try:
        found = campaigns.get(connection, name)
    except UnknownCampaign:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or {*name} & {*" /"}:
            raise BadCampaign(
                f"Invalid name {name[:LONGEST_NAME]!r} of a campaign: use at most {LONGEST_NAME} characters, and "
                "no space, slash or control character."
            ) from None
        return replace(DEFAULT_CAMPAIGN, name=name), None
    return found.definition, found


def changed(before: Definition, changes: CampaignChanges) -> Definition:
    """The definition with the changes. Raises `BadCampaign`, and `BadPlan` for events that no gateway samples."""
    given = changes.events is not None
    if given and (changes.duration_s is not None or changes.rate_hz is not None):
        raise BadCampaign(
            "The events have durations and rates of their own: omit the common duration and rate."
        )
    events = changes.events or ()
    if not given:
        events = _adjusted(before.events, changes.duration_s, changes.rate_hz)
    counted = Counted(
        before.counted.events if changes.counted_events is None else changes.counted_events,
        before.counted.cgroups if changes.counted_cgroups is None else changes.counted_cgroups,
    )
    values: dict[str, Any] = {
        "period_s": changes.period_s,
        "visits_per_round": changes.visits_per_round,
        "events": tuple(checked(events, counted)),
        "counted": counted,
        "select_machines": changes.select_machines,
        "failure_threshold": changes.failure_threshold,
        "failure_window": changes.failure_window,
    }
    try:
        return replace(before, **{name: value for name, value in values.items() if value is not None})
    except ValueError as error:
        raise BadCampaign(f"{error}.") from error


def differences(before: Definition, after: Definition) -> dict[str, list[Any]]:
    """The fields that differ, each with its value before and after."""
    old, new = asdict(before), asdict(after)
    return {name: [old[name], new[name]] for name in new if old[name] != new[name]}


def note_on_pace(before: Definition, stored: Campaign) -> str:
    """A sentence if another density of visits begins later than the change; else empty."""
    pace = [each.visits_per_round / each.period_s for each in (before, stored.definition)]
    return LATER_PACE if stored.last_round >= 0 and not math.isclose(*pace) else ""


def check_resumable(name: str) -> None:
    """Raises `DrawsNothing` for the campaign of visits by hand."""
    if name == BY_HAND:
        raise DrawsNothing(
            f"Campaign {BY_HAND} contains only manual visits and draws none; it cannot be resumed."
        )


def _adjusted(
    events: Sequence[EventPlan], seconds: float | None, rate_hz: float | None
) -> tuple[EventPlan, ...]:
    """The events with another duration and, for events sampled by time, another rate."""
    return tuple(
        replace(
            event,
            duration_ms=event.duration_ms if seconds is None else round(seconds * 1000),
            rate_hz=rate_hz
            if rate_hz is not None and event.event in COUNTS_TIME and not event.period
            else event.rate_hz,
        )
        for event in events
    )
