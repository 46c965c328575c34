"""The state of the store for its operators: campaigns, queues, partitions made ahead.

Every figure describes the whole store, whichever process reads it. Reading is cheap enough for every few seconds:
counts cover only queued work, use indexes, and stop at `COUNTED`.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

from storage import partitions
from storage.query.store_reading import StoreReading
from storage.schema import (
    campaign,
    machine,
    reprocessing,
    rollup_queue,
    symcache,
    visit,
)
from storage.symbols import requests

COUNTED = 100_000
"""Queued work is counted up to this many."""


@dataclass(frozen=True, slots=True)
class CampaignOperation:
    """The state of a campaign."""

    name: str
    state: str
    """running, paused or stopped (by its brake or by a person)."""
    period_s: float
    last_round_began: float | None
    """Seconds since 1970 at which the last drawn round began; None: no round was drawn."""


@dataclass(frozen=True, slots=True)
class Operations:
    """The store's state at one moment."""

    campaigns: tuple[CampaignOperation, ...]
    machines_enabled: int
    visits_last_hour: dict[str, int]
    """Visits drawn in the last hour, by outcome."""
    rollup_queue: int
    """Visits that are not merged into cells yet; at most `COUNTED`."""
    partition_days_ahead: int
    """Days after today with partitions for facts; −1: today has none either."""
    oldest_partition: float | None
    """Seconds since 1970 of the oldest day with facts."""
    reprocessings: int
    """Binaries with better symbols that are not applied to every capture yet."""
    builds_under_way: int
    builds_failed: int
    """Symbol files whose last build failed."""
    symbols_disputed: int
    """Binaries for which machines gave different symbols."""
    database_bytes: int
    """Size of the database on disk (`pg_database_size`)."""


@dataclass(frozen=True, slots=True)
class OperationsQuestion:
    """The store's state for its operators."""

    def answer(self, reading: StoreReading) -> Operations:
        """The state of the snapshot. Raises `DatabaseError`."""
        return read_operations(reading.connection)


def read_operations(connection: Connection) -> Operations:
    """The state as the snapshot shows it."""
    now: datetime = connection.execute(select(func.now())).scalar_one()
    rows = connection.execute(
        select(
            campaign.c.name,
            campaign.c.state,
            campaign.c.period_s,
            campaign.c.last_round,
            campaign.c.campaign_id,
        ).order_by(campaign.c.campaign_id)
    ).all()
    outcomes = connection.execute(
        select(visit.c.outcome, func.count())
        .where(
            visit.c.campaign_id.in_([row.campaign_id for row in rows]),  # there is no index by time alone
            visit.c.drawn_at.between(now - timedelta(hours=1), now),
        )
        .group_by(visit.c.outcome)
    )
    days = partitions.existing(connection)
    leased = symcache.c.leased_until > now
    under_way, failed = connection.execute(
        select(func.count().filter(leased), func.count().filter(symcache.c.failure != "")).select_from(
            symcache
        )
    ).one()
    return Operations(
        campaigns=tuple(
            CampaignOperation(name, state, period_s, last_round * period_s if last_round >= 0 else None)
            for name, state, period_s, last_round, _ in rows
        ),
        machines_enabled=_count(
            connection, select(literal(1)).where(machine.c.removed_at.is_(None), machine.c.enabled)
        ),
        visits_last_hour=dict(tuple(row) for row in outcomes),
        rollup_queue=_count(connection, select(rollup_queue.c.entry_id)),
        partition_days_ahead=max(((day - now.date()).days for day in days if day >= now.date()), default=-1),
        oldest_partition=((days[0] - date(1970, 1, 1)).total_seconds() if days else None),
        reprocessings=_count(connection, select(literal(1)).where(reprocessing.c.finished_at.is_(None))),
        builds_under_way=under_way,
        builds_failed=failed,
        symbols_disputed=_count(connection, requests.disputed()),
        database_bytes=connection.execute(
            select(func.pg_database_size(func.current_database()))
        ).scalar_one(),
    )


def _count(connection: Connection, rows: Select[Any]) -> int:
    some = rows.limit(COUNTED).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())
