"""Bodies of operators' changes."""

from typing import Annotated

from pydantic import Field, StringConstraints

from services.api.api_model import ApiModel
from storage.campaigns import EventPlan

_LONGEST_S = 600.0
_LONGEST_PERIOD_S = 7 * 86_400.0
Text = Annotated[str, StringConstraints(max_length=256, pattern=r"^[^\x00]*$")]
EventName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Event to sample, e.g. cpu, page-faults, tracepoint:sched:sched_switch (docs/events.md).",
    ),
]


class NewEvent(ApiModel):
    """An event of a campaign's visits."""

    event: EventName
    duration_ms: int = Field(ge=1, le=600_000, description="Length of its window.")
    rate_hz: float = Field(
        default=0.0,
        ge=0,
        le=10_000,
        allow_inf_nan=False,
        description="Samples per second and CPU, for events sampled by time. 0: `period` applies.",
    )
    period: int = Field(
        default=0,
        ge=0,
        lt=1 << 62,
        description="Events between two samples. 0: `rate_hz` applies; both 0: the gateway's default.",
    )
    stacks: bool = Field(default=True, description="False: record only the innermost function.")
    turn: int = Field(
        default=0,
        ge=0,
        lt=1000,
        description="Events of one turn are sampled together, turns one after the other.",
    )

    def as_plan(self) -> EventPlan:
        """The event for a campaign's definition."""
        return EventPlan(
            self.event, self.duration_ms, self.rate_hz, self.period, stacks=self.stacks, turn=self.turn
        )


class CampaignChange(ApiModel):
    """Fields to change; omitted ones and null keep their values. A new campaign takes those of a new `fleet`."""

    period_s: float | None = Field(
        default=None, ge=1, le=_LONGEST_PERIOD_S, allow_inf_nan=False, description="Length of a round."
    )
    visits_per_round: float | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        allow_inf_nan=False,
        description="Expected visits of a round over all machines; may be below 1.",
    )
    duration_s: float | None = Field(
        default=None, ge=0.001, le=_LONGEST_S, allow_inf_nan=False, description="Window of every event."
    )
    rate_hz: float | None = Field(
        default=None,
        ge=0.1,
        le=10_000,
        allow_inf_nan=False,
        description="Samples per second and CPU of the events sampled by time.",
    )
    events: list[NewEvent] | None = Field(
        default=None,
        min_length=1,
        max_length=32,
        description="Replaces all events; not together with `duration_s` or `rate_hz`.",
    )
    counted_events: list[Text] | None = Field(
        default=None, max_length=64, description="Events to count besides the default counters."
    )
    counted_cgroups: int | None = Field(
        default=None, ge=0, le=16, description="Control groups to count separately."
    )
    select_machines: dict[Text, Text] | None = Field(
        default=None,
        max_length=32,
        description="Labels that a machine must have (also datacenter, cluster, platform, kernel). {}: all machines.",
        examples=[{"kernel": "6.18.1"}],
    )
    failure_threshold: float | None = Field(
        default=None,
        ge=0.01,
        le=1,
        allow_inf_nan=False,
        description="Share of failed visits that stops the campaign.",
    )
    failure_window: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Latest visits from which that share is computed."
    )


class CampaignStop(ApiModel):
    """Why a campaign is stopped."""

    why: Text = Field(default="Stopped by an operator.", description="Reason, shown to other users.")


class VisitRequest(ApiModel):
    """A visit of one machine, now."""

    machine: str = Field(min_length=1, max_length=256, description="Name of the machine.")
    event: EventName = "cpu"
    duration_s: float = Field(
        default=10.0, ge=0.01, le=_LONGEST_S, allow_inf_nan=False, description="Sampled seconds."
    )
    rate_hz: float = Field(
        default=99.0,
        ge=1,
        le=999,
        allow_inf_nan=False,
        description="Samples per second and CPU, for events sampled by time.",
    )
    period: int = Field(
        default=0,
        ge=0,
        lt=1 << 62,
        description="Events between two samples. 0: `rate_hz`, or the gateway's default.",
    )
