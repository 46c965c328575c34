"""Database checks of `fleetprof doctor`: version, clock, schema, and clocks of machines."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select, text

from storage.migrate import missing
from storage.schema import visit

LARGE_SKEW_S = 5.0
"""Limit for a machine's clock against the collector's; network delay alone causes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of a database at one moment."""

    version: int
    """server_version_num, e.g. 170002."""
    clock_skew_s: float
    """Database clock minus local clock, with the query's duration as accuracy."""
    lacking: tuple[str, ...]
    """Schema revisions that it lacks."""


@dataclass(frozen=True, slots=True)
class Skews:
    """Clock skews of machines in the visits of the last day."""

    visits: int
    """Visits with a recorded skew."""
    large: int
    """Visits with a skew beyond `LARGE_SKEW_S`."""
    worst_s: float


def condition(connection: Connection) -> Condition:
    """Read the state. Raises `NotMigrated` for a database of a newer or another program."""
    before = datetime.now(UTC)
    now, version = connection.execute(
        text("SELECT clock_timestamp(), current_setting('server_version_num')::int")
    ).one()
    halfway = before + (datetime.now(UTC) - before) / 2
    return Condition(version, (now - halfway).total_seconds(), tuple(missing(connection)))


def server_version(connection: Connection) -> int:
    """server_version_num, e.g. 170002."""
    return int(connection.execute(text("SELECT current_setting('server_version_num')::int")).scalar_one())


def is_empty(connection: Connection) -> bool:
    """Whether the database has no tables at all, of this program or another."""
    tables = text(
        "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    )
    return int(connection.execute(tables).scalar_one()) == 0


def freshen(connection: Connection) -> None:
    """Update the planner's statistics, which a restored database lacks."""
    connection.execute(text("ANALYZE"))


def skews(connection: Connection, *, since: timedelta = timedelta(days=1)) -> Skews:
    """Skews of visits that started in this period; the schema must be current."""
    start = datetime.now(UTC) - since
    off = func.abs(visit.c.clock_skew_s)
    visits, large, worst = connection.execute(
        select(
            func.count(),
            func.count().filter(off > LARGE_SKEW_S),
            func.coalesce(func.max(off), 0.0),
        ).where(visit.c.day >= start.date(), visit.c.started_at > start, visit.c.clock_skew_s.is_not(None))
    ).one()
    return Skews(visits, large, worst)
