"""Which night's regressions are to be computed."""

from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Connection, exists, select

from storage.query.estimation.unfinished_visits import count_waiting
from storage.query.releases.nights import night
from storage.query.selections.selection import DEFAULT_CAMPAIGN
from storage.schema import campaign, profile

AFTER = timedelta(hours=2)
"""A night is due this long after the end of its UTC day."""
_LONGEST_WAIT = timedelta(hours=12)
"""From then on it does not wait for the day's captures to be ingested."""


def last_night(now: datetime) -> date:
    """The last day whose night has come."""
    return (now.astimezone(UTC) - AFTER).date() - timedelta(days=1)


def planned_at(day: date) -> datetime:
    """When the night of a day comes."""
    return end_of(day) + AFTER


def end_of(day: date) -> datetime:
    """The end of the UTC day."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def due_night(connection: Connection, now: datetime) -> date | None:
    """The last night, if it has visits and no results yet, and its captures are ingested or half a day old."""
    day = last_night(now)
    campaign_id = connection.scalar(select(campaign.c.campaign_id).where(campaign.c.name == DEFAULT_CAMPAIGN))
    if campaign_id is None:
        return None
    found = night(connection, day)
    if (found is not None and found.finished_at is not None) or not has_data(connection, day):
        return None
    end = end_of(day)
    waits = now < end + _LONGEST_WAIT and count_waiting(connection, campaign_id, end - timedelta(days=1), end)
    return None if waits else day


def has_data(connection: Connection, day: date) -> bool:
    """Whether the day has ingested profiles."""
    return bool(connection.scalar(select(exists().where(profile.c.day == day))))
