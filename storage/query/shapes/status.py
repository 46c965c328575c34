"""The fleet's coverage, the backlog of ingestion, and the binaries without symbols."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, and_, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from storage import thinning
from storage.access import prices
from storage.migrate import revision_of
from storage.query.answers.status import (
    CampaignStatus,
    CapturesStatus,
    EventStatus,
    GatewayVersion,
    MachinesStatus,
    MissingSymbols,
    StatusAnswer,
    SymbolsStatus,
    Versions,
    VisitsStatus,
)
from storage.query.selections.times import format_time
from storage.query.shapes.failures import read_failures
from storage.query.store_reading import StoreReading
from storage.rollup.daily import overdue
from storage.schema import (
    binary,
    campaign,
    capture,
    capture_binary,
    capture_system,
    machine,
    sample_type,
    visit,
)

_MISSING_SHOWN = 50
_MISSING_OVER = timedelta(days=1)
_VERSIONS_OVER = timedelta(days=1)
_MOST_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class StatusQuestion:
    """The fleet's coverage and its problems."""

    price_per_core_hour: float | None = None
    """Repeated in the answer; None: not set."""
    version: str = ""
    """Of the program that asks; repeated in the answer."""

    def answer(self, reading: StoreReading) -> StatusAnswer:
        """The fleet's state. Raises `DatabaseError`."""
        return read_status(reading.connection, self.price_per_core_hour, self.version)


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
    to_reprocess = connection.execute(
        select(func.count()).select_from(capture).where(waits, capture.c.ingested > 0)
    ).scalar_one()
    aside = connection.execute(
        select(func.count()).select_from(capture).where(capture.c.quarantined.is_not(None))
    ).scalar_one()
    return CapturesStatus(waiting, None if oldest is None else float(oldest), to_reprocess, aside)


def read_status(
    connection: Connection, price_per_core_hour: float | None = None, version: str = ""
) -> StatusAnswer:
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
    return StatusAnswer(
        now=format_time(now),
        machines=MachinesStatus(enabled, total),
        campaigns=tuple(
            CampaignStatus(
                name=row.name,
                state=row.state,
                why=row.state_why,
                since=format_time(row.state_at),
                period_s=row.period_s,
                last_round=row.last_round,
                drawn_share=thinning.share(thinned.get(row.campaign_id, 0)),
            )
            for row in campaigns
        ),
        visits=VisitsStatus(dict(tuple(row) for row in outcomes), read_failures(connection, now)),
        captures=captures_status(connection),
        events=tuple(EventStatus(event, unit) for event, unit in events),
        price_per_core_hour=price_per_core_hour,
        priced=price_per_core_hour is not None or bool(prices.listing(connection)),
        latest=None if latest is None else format_time(latest),
        symbols=SymbolsStatus(_missing_symbols(connection, now)),
        versions=Versions(version, revision_of(connection) or "", _gateways(connection, now)),
    )


def _gateways(connection: Connection, now: datetime) -> tuple[GatewayVersion, ...]:
    c = capture_system.c
    latest = (
        select(func.coalesce(c.gateway, "").label("program"))
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(c.day >= (now - _VERSIONS_OVER).date(), visit.c.drawn_at >= now - _VERSIONS_OVER)
        .ext(distinct_on(visit.c.machine_id))
        .order_by(visit.c.machine_id, visit.c.drawn_at.desc())
        .subquery()
    )
    machines = func.count().label("machines")
    rows = connection.execute(
        select(latest.c.program, machines)
        .group_by(latest.c.program)
        .order_by(machines.desc(), latest.c.program)
        .limit(_MOST_VERSIONS)
    )
    return tuple(GatewayVersion(program, number) for program, number in rows)


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
