"""The answers of campaigns: their plans, and the visits that came of them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share


@dataclass(frozen=True, slots=True)
class PlannedEvent(Answer):
    """An event of a visit."""

    event: str
    duration_ms: int
    rate_hz: Annotated[float, Field(description="Samples per second and CPU. 0: `period` applies.")]
    period: Annotated[
        int,
        Field(description="Events between two samples. 0: `rate_hz` applies; both 0: the gateway's default."),
    ]
    stacks: Annotated[bool, Field(description="False: only the innermost function is recorded.")]
    turn: Annotated[
        int, Field(description="Events of one turn are sampled together, turns one after the other.")
    ]


@dataclass(frozen=True, slots=True)
class CampaignHour(Answer):
    """The visits that were drawn for one hour of UTC."""

    start: str
    planned: Annotated[int, Field(description="Visits drawn for this hour; the current one may get more.")]
    answered: Annotated[int, Field(description="Those that returned a capture.")]
    ingested: Annotated[int, Field(description="Those whose capture is ingested.")]
    failed: Annotated[int, Field(description="Those that failed.")]
    lost: Annotated[int, Field(description="Those that the collector did not make or finish.")]
    open: Annotated[int, Field(description="Those that have not ended.")]


@dataclass(frozen=True, slots=True)
class CampaignAnswer(Answer):
    """A campaign."""

    name: str
    state: Literal["running", "paused", "stopped"]
    why: Annotated[str, Field(description="The reason for the state, as a sentence; may be empty.")]
    since: Annotated[str, Field(description="Time of the last change of the state.")]
    created_at: str
    draws: Annotated[
        bool, Field(description="False: it holds visits by hand, which represent no other machine.")
    ]
    period_s: Annotated[float, Field(description="Length of a round.")]
    visits_per_round: Annotated[float, Field(description="Expected visits of a round over all machines.")]
    events: tuple[PlannedEvent, ...]
    counted_events: Annotated[tuple[str, ...], Field(description="Counted besides the default counters.")]
    counted_cgroups: Annotated[int, Field(description="Control groups that are counted separately.")]
    select_machines: Annotated[
        dict[str, str], Field(description="Labels that a machine must have. Empty: all enabled machines.")
    ]
    failure_threshold: Annotated[Share, Field(description="Share of failed visits that stops the campaign.")]
    failure_window: Annotated[int, Field(description="Latest visits from which that share is computed.")]
    visit_s: Annotated[float, Field(description="Sampled seconds of one visit.")]
    machines: Annotated[int, Field(description="Enabled machines that it selects now.")]
    strata: Annotated[int, Field(description="Strata (datacenter × platform) of these machines.")]
    drawn_share: Annotated[
        float,
        Field(
            description="Part of the planned visits that is drawn now. It is below 1 while captures wait too long to be "
            "ingested."
        ),
    ]
    visits_per_hour: Annotated[
        float,
        Field(
            description="Expected visits of an hour while it runs: of the plan, the machines and `drawn_share`."
        ),
    ]
    sampled_share: Annotated[
        float,
        Field(
            description="Share of the machines' time that is sampled at this rate: the budget of overhead. One machine "
            "is visited `visits_per_hour / machines` times an hour."
        ),
    ]
    last_round: Annotated[int, Field(description="Number of the last drawn round. -1 before the first.")]
    covered_last_day_s: Annotated[
        float, Field(description="Seconds of the last 24 hours in which rounds were drawn.")
    ]
    last_hour: Annotated[
        dict[str, int], Field(description="Visits by outcome.", examples=[{"answered": 58, "unreachable": 2}])
    ]
    last_day: Annotated[dict[str, int], Field(description="Visits by outcome.")]
    hours: Annotated[
        tuple[CampaignHour, ...],
        Field(description="The current hour of UTC and the 23 before it, oldest first."),
    ]


@dataclass(frozen=True, slots=True)
class NewCampaign(Answer):
    """The plan of a new campaign for which nothing else is given."""

    period_s: float
    visits_per_round: float
    events: tuple[PlannedEvent, ...]
    counted_events: tuple[str, ...]
    counted_cgroups: int
    select_machines: dict[str, str]
    failure_threshold: Share
    failure_window: int


@dataclass(frozen=True, slots=True)
class CampaignsAnswer(Answer):
    """All campaigns by name."""

    campaigns: tuple[CampaignAnswer, ...]
    new: NewCampaign
    timed_events: Annotated[
        tuple[str, ...],
        Field(description="Events that count time, which are sampled at a rate; others have a period."),
    ]
