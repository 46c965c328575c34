"""Campaigns: whom to visit, how often, and what to sample (DIGEST G2, G4, G20)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from storage import coverage, visits
from storage.errors import UnknownCampaign
from storage.schema import campaign

LONGEST_LEAD_S = 86_400.0
"""A round further ahead than this was drawn by a clock that was wrong: it holds up no later one."""
FLEET = "fleet"
"""The standing campaign: what a selection means that names none."""


class State(StrEnum):
    """Whether a campaign draws machines."""

    RUNNING = "running"
    PAUSED = "paused"
    """By a person."""
    STOPPED = "stopped"
    """By the brake: too many visits failed (G4)."""


@dataclass(frozen=True, slots=True)
class EventPlan:
    """One event of a visit; the fields mean what they mean in `fleetpb.v1.EventPlan`."""

    event: str
    duration_ms: int
    rate_hz: float = 0.0
    """Samples per second and CPU; 0: `period` counts."""
    period: int = 0
    """Events between two samples; 0: `rate_hz` counts. Both 0: the gateway's default for the event."""
    stacks: bool = True
    turn: int = 0
    """Events of one turn are sampled together, turns one after the other."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a visit counts besides its samples and the standing counters (`fleetpb.v1.Plan`)."""

    events: tuple[str, ...] = ()
    """Names of more counters, as `EventPlan.event`."""
    cgroups: int = 0
    """How many control groups, of those that run most, are counted for themselves."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What an operator decides about a campaign."""

    name: str
    period_s: float
    """Length of a round."""
    visits_per_round: float
    """Expected visits of a round over all strata; fractions are fine."""
    events: tuple[EventPlan, ...]
    select_machines: Mapping[str, str] = field(default_factory=dict)
    """Labels a machine must have; none: every machine."""
    failure_threshold: float = 0.5
    """Share of failed visits, 0…1, that stops the campaign."""
    failure_window: int = 20
    """Number of latest visits that share is taken over."""
    counted: Counted = Counted()

    def __post_init__(self) -> None:
        """Raises `ValueError`, naming the field, for what makes no sense."""
        if not self.name or not self.events:
            raise ValueError("a campaign needs a name and at least one event")
        if not self.period_s > 0 or not self.visits_per_round >= 0:
            raise ValueError("period_s must be positive and visits_per_round not negative")
        if not 0 < self.failure_threshold <= 1 or self.failure_window < 1:
            raise ValueError("failure_threshold must be in (0, 1] and failure_window at least 1")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as it stands in the store."""

    campaign_id: int
    definition: Definition
    state: State
    state_why: str
    """A sentence for a person."""
    state_at: datetime
    last_round: int
    """Number of the last round drawn; -1: none yet."""

    @property
    def name(self) -> str:
        """The definition's."""
        return self.definition.name


def create_or_update(connection: Connection, definition: Definition) -> Campaign:
    """Store the definition; a campaign of this name keeps its id, state and rounds.

    With another period, the rest of its round's visits end as lost: the rounds of the new period draw that time anew.
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
    row = connection.execute(select(campaign).where(campaign.c.name == name)).one_or_none()
    if row is None:
        raise _unknown(name)
    return _campaign(row)


def list_(connection: Connection) -> list[Campaign]:
    """All campaigns by name."""
    return [_campaign(row) for row in connection.execute(select(campaign).order_by(campaign.c.name))]


def set_state(connection: Connection, name: str, state: State, why: str) -> bool:
    """Start, pause or stop a campaign and say why; False: it was in that state, nothing changed.

    The time of a campaign that no longer runs is covered up to now: the rest of its round's visits end as lost.
    Starting forgets earlier failures (`storage.visit_history.endings`). Raises `UnknownCampaign`.
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
    """Claim a round for drawing; False: it, or a later one, was drawn already, or none is to be.

    `period_s` is that which the number was counted by: of a campaign that has another one by now nothing is claimed.
    A drawn round that lies more than a day ahead is not believed (`is_drawn`).
    Part of the transaction that records the draw: two collectors never draw the same round.
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
    """Whether this round, or a later one that can be true, was drawn."""
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
