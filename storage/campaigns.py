"""Campaigns: which machines to visit, how often, and what to sample (DIGEST G2, G4, G20)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from storage import coverage, visits
from storage.errors import UnknownCampaign
from storage.schema import campaign

LONGEST_LEAD_S = 86_400.0
"""A round further ahead was drawn by a wrong clock; it does not block later draws."""
FLEET = "fleet"
"""The standing campaign, the default of selections."""
BY_HAND = "by-hand"
"""Campaign of visits on request; it draws no rounds, so its visits do not enter the fleet's figures."""


class State(StrEnum):
    """Whether a campaign draws visits."""

    RUNNING = "running"
    PAUSED = "paused"
    """By a person."""
    STOPPED = "stopped"
    """By the brake: too many visits failed (G4)."""


@dataclass(frozen=True, slots=True)
class EventPlan:
    """One event of a visit; fields as in `fleetpb.v1.EventPlan`."""

    event: str
    duration_ms: int
    rate_hz: float = 0.0
    """Samples per second and CPU; 0: `period` applies."""
    period: int = 0
    """Events between two samples; 0: `rate_hz` applies. Both 0: the gateway's default for the event."""
    stacks: bool = True
    turn: int = 0
    """Events with the same turn are sampled together, the turns one after the other."""


def window_s(events: Sequence[EventPlan]) -> float:
    """Seconds that the events take: those of one turn run in parallel, turns one after the other."""
    by_turn = groupby(sorted(events, key=lambda event: event.turn), key=lambda event: event.turn)
    return sum(max(event.duration_ms for event in turn) for _, turn in by_turn) / 1000


@dataclass(frozen=True, slots=True)
class Counted:
    """Counters of a visit besides samples and standing counters (`fleetpb.v1.Plan`)."""

    events: tuple[str, ...] = ()
    """Names of additional counters, as in `EventPlan.event`."""
    cgroups: int = 0
    """Number of control groups that are counted separately, those with the most CPU time."""


@dataclass(frozen=True, slots=True)
class Definition:
    """An operator's settings of a campaign."""

    name: str
    period_s: float
    """Length of a round."""
    visits_per_round: float
    """Expected visits per round over all strata; may be fractional."""
    events: tuple[EventPlan, ...]
    select_machines: Mapping[str, str] = field(default_factory=dict)
    """Labels that a machine must have; empty: every machine."""
    failure_threshold: float = 0.5
    """Share of failed visits, 0…1, that stops the campaign."""
    failure_window: int = 20
    """Number of latest visits from which that share is computed."""
    counted: Counted = Counted()

    def __post_init__(self) -> None:
        """Raise `ValueError`, naming the field, for invalid values."""
        if not self.name or not self.events:
            raise ValueError("a campaign needs a name and at least one event")
        if not self.period_s > 0 or not self.visits_per_round >= 0:
            raise ValueError("period_s must be positive and visits_per_round not negative")
        if not 0 < self.failure_threshold <= 1 or self.failure_window < 1:
            raise ValueError("failure_threshold must be in (0, 1] and failure_window at least 1")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A stored campaign."""

    campaign_id: int
    definition: Definition
    state: State
    state_why: str
    """A sentence for users."""
    state_at: datetime
    last_round: int
    """Number of the last round drawn; -1: none yet."""

    @property
    def name(self) -> str:
        """The definition's name."""
        return self.definition.name


def create_or_update(connection: Connection, definition: Definition) -> Campaign:
    """Store the definition; an existing campaign of this name keeps its id, state and rounds.

    If the period changes, the remaining visits of the current round end as lost, and rounds of the new period draw that
    time again.
    """
    before = connection.execute(
        select(campaign.c.campaign_id, campaign.c.period_s)
        .where(campaign.c.name == definition.name)
        .with_for_update()
    ).one_or_none()
    columns = {
        "period_s": definition.period_s,
        "visits_per_round": definition.visits_per_round,
        "plan": [asdict(event) for event in definition.events],
        "counted": asdict(definition.counted),
        "select_machines": dict(definition.select_machines),
        "failure_threshold": definition.failure_threshold,
        "failure_window": definition.failure_window,
    }
    row = insert(campaign).values(name=definition.name, **columns)
    stored = connection.execute(
        row.on_conflict_do_update(index_elements=[campaign.c.name], set_=columns).returning(*campaign.c)
    ).one()
    if before is not None and before.period_s != definition.period_s:
        coverage.end_time(connection, before.campaign_id)
        visits.lose_not_begun(
            connection, before.campaign_id, "The campaign's period was changed before the machine was called."
        )
    return _campaign(stored)


def get(connection: Connection, name: str) -> Campaign:
    """The campaign of this name. Raises `UnknownCampaign`."""
    if "\0" in name:  # PostgreSQL takes no such text
        raise _unknown(name)
    row = connection.execute(select(campaign).where(campaign.c.name == name)).one_or_none()
    if row is None:
        raise _unknown(name)
    return _campaign(row)


def list_(connection: Connection) -> list[Campaign]:
    """All campaigns by name."""
    return [_campaign(row) for row in connection.execute(select(campaign).order_by(campaign.c.name))]


def set_state(connection: Connection, name: str, state: State, why: str) -> bool:
    """Start, pause or stop a campaign and record why; False: it was in that state already.

    When a campaign ends running, its time is covered up to now: the remaining visits of its round end as lost.
    Starting clears earlier failures (`storage.visit_history.endings`). Raises `UnknownCampaign`.
    """
    changed = connection.execute(
        update(campaign)
        .where(campaign.c.name == name, campaign.c.state != state)
        .values(state=state, state_why=why, state_at=func.clock_timestamp())
        .returning(campaign.c.campaign_id)
    ).one_or_none()
    if changed is None:
        get(connection, name)
        return False
    if state != State.RUNNING:
        coverage.end_time(connection, changed.campaign_id)
        visits.lose_not_begun(
            connection, changed.campaign_id, f"The campaign was {state} before the machine was called."
        )
    return True


def begin_round(connection: Connection, campaign_id: int, number: int, period_s: float | None = None) -> bool:
    """Claim a round for drawing; False: it or a later round was drawn already, or the campaign may not draw.

    `period_s` is the period that `number` is based on; the claim fails if the campaign's period has changed. A drawn
    round more than a day ahead is ignored (`is_drawn`). Call it in the transaction that records the draw, so that two
    collectors never draw the same round.
    """
    claimed = connection.execute(
        update(campaign)
        .where(
            campaign.c.campaign_id == campaign_id,
            or_(
                campaign.c.last_round < number,
                (campaign.c.last_round - number) * campaign.c.period_s > LONGEST_LEAD_S,
            ),
            campaign.c.state == State.RUNNING,
            campaign.c.period_s == (campaign.c.period_s if period_s is None else period_s),
        )
        .values(last_round=number)
    )
    return claimed.rowcount == 1


def is_drawn(found: Campaign, number: int) -> bool:
    """Whether this round or a later plausible one was drawn."""
    return 0 <= (found.last_round - number) * found.definition.period_s <= LONGEST_LEAD_S


def _campaign(row: Row[Any]) -> Campaign:
    definition = Definition(
        name=row.name,
        period_s=row.period_s,
        visits_per_round=row.visits_per_round,
        events=tuple(EventPlan(**event) for event in row.plan),
        select_machines=row.select_machines,
        failure_threshold=row.failure_threshold,
        failure_window=row.failure_window,
        counted=Counted(tuple(row.counted.get("events", ())), row.counted.get("cgroups", 0)),
    )
    return Campaign(
        campaign_id=row.campaign_id,
        definition=definition,
        state=State(row.state),
        state_why=row.state_why,
        state_at=row.state_at,
        last_round=row.last_round,
    )


def _unknown(name: str) -> UnknownCampaign:
    return UnknownCampaign(f"There is no campaign {name!r}; see: fleetprof campaigns list")
