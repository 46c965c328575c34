"""Campaigns: their plans, their coverage, and their visits of the last day."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, select, tuple_

from storage import campaigns, thinning
from storage.campaigns import BY_HAND, Campaign, Definition, window_s
from storage.machine_selection import selecting
from storage.query.answers.campaigns import (
    CampaignAnswer,
    CampaignHour,
    CampaignsAnswer,
    NewCampaign,
    PlannedEvent,
)
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading
from storage.schema import FAILURES, Outcome, campaign, capture, covered_time, machine, visit

HOURS: Final = 24
_HOUR_S: Final = 3600
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CampaignsQuestion:
    """All campaigns."""

    new: Definition
    """The plan of a new campaign, repeated in the answer like `timed_events`."""
    timed_events: tuple[str, ...]

    def answer(self, reading: StoreReading) -> CampaignsAnswer:
        """The campaigns by name. Raises `DatabaseError`."""
        connection = reading.connection
        return CampaignsAnswer(
            read_campaigns(connection, campaigns.list_(connection)),
            NewCampaign(
                period_s=self.new.period_s,
                visits_per_round=self.new.visits_per_round,
                events=_events(self.new),
                counted_events=self.new.counted.events,
                counted_cgroups=self.new.counted.cgroups,
                select_machines=dict(self.new.select_machines),
                failure_threshold=self.new.failure_threshold,
                failure_window=self.new.failure_window,
            ),
            self.timed_events,
        )


@dataclass(frozen=True, slots=True)
class CampaignQuestion:
    """The campaign of this name."""

    name: str

    def answer(self, reading: StoreReading) -> CampaignAnswer:
        """The campaign. Raises `UnknownCampaign`."""
        connection = reading.connection
        return read_campaigns(connection, [campaigns.get(connection, self.name)])[0]


def read_campaigns(connection: Connection, found: Sequence[Campaign]) -> tuple[CampaignAnswer, ...]:
    """The answers for these campaigns, in their order."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    ids = [one.campaign_id for one in found]
    hours = _hours(connection, ids, now)
    halved = thinning.latest(connection, int(now.timestamp() // _HOUR_S))
    last_hour = _outcomes(connection, ids, now - timedelta(hours=1))
    last_day = _outcomes(connection, ids, now - _DAY)
    created_at = connection.execute(
        select(campaign.c.campaign_id, campaign.c.created_at).where(campaign.c.campaign_id.in_(ids))
    )
    created = dict(tuple(row) for row in created_at)
    return tuple(
        _answer(
            connection,
            one,
            now,
            created_at=created[one.campaign_id],
            drawn_share=thinning.share(halved.get(one.campaign_id, 0)),
            last_hour=last_hour[one.campaign_id],
            last_day=last_day[one.campaign_id],
            hours=hours[one.campaign_id],
        )
        for one in found
    )


def _answer(
    connection: Connection,
    found: Campaign,
    now: datetime,
    *,
    created_at: datetime,
    drawn_share: float,
    last_hour: Mapping[str, int],
    last_day: Mapping[str, int],
    hours: tuple[CampaignHour, ...],
) -> CampaignAnswer:
    plan = found.definition
    machines, strata = connection.execute(
        select(func.count(), func.count(tuple_(machine.c.datacenter, machine.c.platform).distinct())).where(
            machine.c.removed_at.is_(None), machine.c.enabled, *selecting(plan.select_machines)
        )
    ).one()
    visit_s = window_s(plan.events)
    # As the draw does: a round visits no machine twice.
    visits_per_hour = min(plan.visits_per_round, machines) * drawn_share * _HOUR_S / plan.period_s
    return CampaignAnswer(
        name=found.name,
        state=found.state.value,
        why=found.state_why,
        since=format_time(found.state_at),
        created_at=format_time(created_at),
        draws=found.name != BY_HAND,
        period_s=plan.period_s,
        visits_per_round=plan.visits_per_round,
        events=_events(plan),
        counted_events=plan.counted.events,
        counted_cgroups=plan.counted.cgroups,
        select_machines=dict(plan.select_machines),
        failure_threshold=plan.failure_threshold,
        failure_window=plan.failure_window,
        visit_s=visit_s,
        machines=machines,
        strata=strata,
        drawn_share=drawn_share,
        visits_per_hour=visits_per_hour,
        sampled_share=visits_per_hour * visit_s / (_HOUR_S * machines) if machines else 0.0,
        last_round=found.last_round,
        covered_last_day_s=_covered_s(connection, found.campaign_id, now),
        last_hour=dict(last_hour),
        last_day=dict(last_day),
        hours=hours,
    )


def _events(plan: Definition) -> tuple[PlannedEvent, ...]:
    return tuple(PlannedEvent(**asdict(event)) for event in plan.events)


def _covered_s(connection: Connection, campaign_id: int, now: datetime) -> float:
    c, start = covered_time.c, now - _DAY
    length = func.least(c.ends, now) - func.greatest(c.begins, start)
    seconds = connection.execute(
        select(func.coalesce(func.sum(func.extract("epoch", length)), 0)).where(
            c.campaign_id == campaign_id, c.ends > start, c.begins < now
        )
    ).scalar_one()
    return float(seconds)


def _outcomes(connection: Connection, ids: Sequence[int], start: datetime) -> dict[int, dict[str, int]]:
    """Numbers of visits that were drawn since `start`, by campaign and outcome."""
    rows = connection.execute(
        select(visit.c.campaign_id, visit.c.outcome, func.count())
        .where(visit.c.campaign_id.in_(ids), visit.c.drawn_at >= start)
        .group_by(visit.c.campaign_id, visit.c.outcome)
        .order_by(func.count().desc(), visit.c.outcome)
    )
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for campaign_id, outcome, visits in rows:
        found[campaign_id][outcome] = visits
    return found


@dataclass(slots=True)
class _Hour:
    outcomes: Counter[str] = field(default_factory=Counter)
    ingested: int = 0


def _hours(connection: Connection, ids: Sequence[int], now: datetime) -> dict[int, tuple[CampaignHour, ...]]:
    last = int(now.timestamp() // _HOUR_S)
    shown = range(last - HOURS + 1, last + 1)
    start = datetime.fromtimestamp(shown.start * _HOUR_S, UTC)
    rows = connection.execute(
        select(
            visit.c.campaign_id,
            visit.c.hour,
            visit.c.outcome,
            func.count(),
            func.count().filter(capture.c.ingested > 0),
        )
        .outerjoin(capture, capture.c.visit_id == visit.c.visit_id)
        .where(visit.c.campaign_id.in_(ids), visit.c.drawn_at >= start)
        .group_by(visit.c.campaign_id, visit.c.hour, visit.c.outcome)
    )
    found: dict[tuple[int, int], _Hour] = defaultdict(_Hour)
    for campaign_id, hour, outcome, visits, ingested in rows:
        found[campaign_id, hour].outcomes[outcome] += visits
        found[campaign_id, hour].ingested += ingested
    return {id_: tuple(_hour(hour, found[id_, hour]) for hour in shown) for id_ in ids}


def _hour(hour: int, found: _Hour) -> CampaignHour:
    outcomes = found.outcomes
    return CampaignHour(
        start=format_time(datetime.fromtimestamp(hour * _HOUR_S, UTC)),
        planned=outcomes.total(),
        answered=outcomes[Outcome.ANSWERED],
        ingested=found.ingested,
        failed=sum(outcomes[outcome] for outcome in FAILURES),
        lost=outcomes[Outcome.LOST],
        open=outcomes[Outcome.DRAWN],
    )
