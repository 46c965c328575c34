"""Closed days, and PostgreSQL's ingestion counts of them, which show whether the lake's copy is up to date."""

from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import BigInteger, Connection, cast, func, select
from sqlalchemy.sql.elements import ColumnElement

from storage import partitions
from storage.schema import campaign, capture, profile, sample_type, visit
from storage.segments.manifest import Ingested, TypeTotals

CLOSED_AFTER = timedelta(hours=48)
"""From the day's end; captures that are ingested later cause another export."""


def closed(connection: Connection, now: datetime) -> list[date]:
    """The days that ended at least 48 hours ago and have facts, ascending."""
    return [day for day in partitions.existing(connection) if closed_at(day) <= now]


def ingested(connection: Connection, day: date) -> Ingested:
    """The ingestion counts of a day; call it in a snapshot, so that they are of one moment."""
    captures, generations = connection.execute(
        select(func.count(), func.coalesce(func.sum(capture.c.ingested), 0)).where(
            capture.c.day == day, capture.c.ingested > 0
        )
    ).one()
    visits, ended = connection.execute(
        select(func.count(), func.count(visit.c.ended_at)).where(*of_day(connection, day))
    ).one()
    return Ingested(captures, int(generations), visits, ended)


def waiting(connection: Connection) -> dict[date, int]:
    """By day, captures that wait for their first ingestion; served by the index."""
    rows = connection.execute(
        select(capture.c.day, func.count())
        .where(
            capture.c.ingested == 0, capture.c.ingested < capture.c.wanted, capture.c.quarantined.is_(None)
        )
        .group_by(capture.c.day)
    )
    return {row[0]: row[1] for row in rows}


def closed_at(day: date) -> datetime:
    """48 hours after the day's end."""
    return datetime.combine(day, time(), UTC) + timedelta(days=1) + CLOSED_AFTER


def of_day(connection: Connection, day: date) -> tuple[ColumnElement[bool], ...]:
    """Conditions on `visit` in a form that its index serves, which begins with the campaign."""
    campaigns = connection.scalars(select(campaign.c.campaign_id)).all()
    return visit.c.day == day, visit.c.campaign_id.in_(campaigns)


def totals(connection: Connection, day: date) -> tuple[TypeTotals, ...]:
    """The totals of each event of each campaign, ascending."""
    c = profile.c
    rows = connection.execute(
        select(
            campaign.c.name,
            sample_type.c.event,
            sample_type.c.unit,
            c.stacks,
            func.count(),
            cast(func.sum(c.facts), BigInteger),
            cast(func.sum(c.samples), BigInteger),
            cast(func.sum(c.samples * c.period), BigInteger),
        )
        .join(campaign, campaign.c.campaign_id == c.campaign_id)
        .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
        .where(c.day == day)
        .group_by(campaign.c.name, sample_type.c.event, sample_type.c.unit, c.stacks)
    )
    return tuple(sorted(TypeTotals(*row) for row in rows))
