"""The fleet's coverage, the backlog of ingestion, and the binaries without symbols."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, and_, func, select

from storage import thinning
from storage.query.shapes.failures import VisitFailure, read_failures
from storage.query.store_reading import StoreReading
from storage.rollup.daily import overdue
from storage.schema import binary, campaign, capture, capture_binary, machine, sample_type, visit

_MISSING_SHOWN = 50
_MISSING_OVER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """The state of a campaign."""

    name: str
    state: str
    why: str
    since: datetime
    period_s: float
    last_round: int
    drawn_share: float
    """Drawn share of its planned visits; 1 unless captures wait too long to be ingested (`storage.thinning`)."""


@dataclass(frozen=True, slots=True)
class CapturesStatus:
    """Archived captures that are not ingested."""

    waiting: int
    """Captures to be ingested for the first time."""
    oldest_waiting_s: float | None
    again: int
    """Ingested captures that are to be ingested again with better symbols."""
    quarantined: int


@dataclass(frozen=True, slots=True)
class MissingSymbols:
    """A binary with sampled code that has no names."""

    binary: str
    path: str
    reason: str
    share: float
    """Share of all samples of the last day that have a nameless frame in this binary."""


@dataclass(frozen=True, slots=True)
class Status:
    """The fleet's state at one moment."""

    now: datetime
    machines_enabled: int
    machines_total: int
    campaigns: tuple[CampaignStatus, ...]
    visits_last_hour: dict[str, int]
    """By outcome."""
    failures: Sequence[VisitFailure]
    """Failures of the last day, most frequent first."""
    captures: CapturesStatus
    events: tuple[tuple[str, str], ...]
    """(event, unit) of everything sampled so far."""
    latest: datetime | None
    """When the newest ingested visit was drawn."""
    missing_symbols: tuple[MissingSymbols, ...]


@dataclass(frozen=True, slots=True)
class StatusQuestion:
    """The fleet's coverage and its problems."""

    def answer(self, reading: StoreReading) -> Status:
        """The fleet's state. Raises `DatabaseError`."""
        return read_status(reading.connection)


@dataclass(frozen=True, slots=True)
class IngestionStatus:
    """The backlog of ingestion and rollups."""

    captures: CapturesStatus
    days_without_daily_rollup: int
    """Days that have ended and have only hourly cells."""


@dataclass(frozen=True, slots=True)
class IngestionQuestion:
    """The backlog of ingestion and rollups."""

    def answer(self, reading: StoreReading) -> IngestionStatus:
        """The backlog. Raises `DatabaseError`."""
        without_daily_rollup = overdue(reading.connection, datetime.now(UTC))
        return IngestionStatus(captures_status(reading.connection), len(without_daily_rollup))


def captures_status(connection: Connection) -> CapturesStatus:
    """The captures that wait to be ingested; cheap enough for a metric."""
    waits = and_(capture.c.ingested < capture.c.wanted, capture.c.quarantined.is_(None))
    waiting, oldest = connection.execute(
        select(func.count(), func.extract("epoch", func.now() - func.min(capture.c.archived_at))).where(
            waits, capture.c.ingested == 0
        )
    ).one()
    again = connection.execute(
        select(func.count()).select_from(capture).where(waits, capture.c.ingested > 0)
    ).scalar_one()
    aside = connection.execute(
        select(func.count()).select_from(capture).where(capture.c.quarantined.is_not(None))
    ).scalar_one()
    return CapturesStatus(waiting, None if oldest is None else float(oldest), again, aside)


def read_status(connection: Connection) -> Status:
    """The status as the snapshot shows it."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    in_inventory = machine.c.removed_at.is_(None)
    total, enabled = connection.execute(
        select(func.count(), func.count().filter(machine.c.enabled)).where(in_inventory)
    ).one()
    campaigns = connection.execute(
        select(
            campaign.c.name,
            campaign.c.state,
            campaign.c.state_why,
            campaign.c.state_at,
            campaign.c.period_s,
            campaign.c.last_round,
            campaign.c.campaign_id,
        ).order_by(campaign.c.campaign_id)
    ).all()
    thinned = thinning.latest(connection, int(now.timestamp() // 3600))
    outcomes = connection.execute(
        select(visit.c.outcome, func.count())
        .where(
            visit.c.campaign_id.in_(
                [row.campaign_id for row in campaigns]
            ),  # there is no index by time alone
            visit.c.drawn_at >= now - timedelta(hours=1),
        )
        .group_by(visit.c.outcome)
    )
    events = connection.execute(
        select(sample_type.c.event, sample_type.c.unit).order_by(sample_type.c.event, sample_type.c.unit)
    )
    latest = connection.execute(
        select(visit.c.drawn_at)
        .join(capture, capture.c.visit_id == visit.c.visit_id)
        .where(capture.c.ingested > 0)
        .order_by(visit.c.drawn_at.desc())
        .limit(1)
    ).scalar()
    return Status(
        now=now,
        machines_enabled=enabled,
        machines_total=total,
        campaigns=tuple(
            CampaignStatus(*row[:-1], drawn_share=thinning.share(thinned.get(row.campaign_id, 0)))
            for row in campaigns
        ),
        visits_last_hour=dict(tuple(row) for row in outcomes),
        failures=read_failures(connection, now),
        captures=captures_status(connection),
        events=tuple((event, unit) for event, unit in events),
        latest=latest,
        missing_symbols=_missing_symbols(connection, now),
    )


def _missing_symbols(connection: Connection, now: datetime) -> tuple[MissingSymbols, ...]:
    since = (now - _MISSING_OVER).date()
    samples = connection.execute(
        select(func.coalesce(func.sum(capture.c.samples), 0)).where(
            capture.c.day >= since, capture.c.ingested > 0
        )
    ).scalar_one()
    if not samples:
        return ()
    unresolved = func.sum(capture_binary.c.unresolved)
    rows = connection.execute(
        select(binary.c.name, binary.c.path, binary.c.reason, unresolved)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .where(capture_binary.c.day >= since)
        .group_by(binary.c.binary_id)
        .having(unresolved > 0)
        .order_by(unresolved.desc(), binary.c.name)
        .limit(_MISSING_SHOWN)
    )
    return tuple(
        MissingSymbols(name, path, reason, min(1.0, float(count) / float(samples)))
        for name, path, reason, count in rows
    )
