"""How a database is, for `fleetprof doctor`: its version and clock, its schema, and the clocks of machines."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, func, select, text

from storage.migrate import missing
from storage.schema import visit

LARGE_SKEW_S = 5.0
"""Of a machine's clock from the collector's; the network's delay alone makes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One database at one moment."""

    version: int
    """server_version_num, e.g. 170002."""
    clock_skew_s: float
    """Its clock − ours, good to the time the question took."""
    lacking: tuple[str, ...]
    """Revisions of the schema that it lacks."""


@dataclass(frozen=True, slots=True)
class Skews:
    """Machines' clocks, by the visits of the last day."""

    visits: int
    """That told a clock."""
    large: int
    """Of them, off by more than `LARGE_SKEW_S`."""
    worst_s: float


def condition(connection: Connection) -> Condition:
    """Raises `NotMigrated` for a database of a newer or another program."""
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
    """Whether the database holds no tables at all, of this program or another."""
    tables = text(
        "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    )
    return int(connection.execute(tables).scalar_one()) == 0


def freshen(connection: Connection) -> None:
    """Collect the planner's statistics anew: of what was just restored it knows nothing."""
    connection.execute(text("ANALYZE"))


def skews(connection: Connection, *, since: timedelta = timedelta(days=1)) -> Skews:
    """Of visits that started since then; the schema must be current."""
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
