"""Partitions of the fact tables: one a UTC day, made ahead and dropped whole.

A day's partition of table `profile` is named `profile_20261121`.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from sqlalchemy import Connection, text

from storage.schema import PARTITIONED

_LOCK = 0x666C_6565_7402
"""Advisory lock of whoever makes or drops partitions."""
_PATIENCE_MS = 2_000
"""How long dropping may wait for readers: everyone else queues behind it meanwhile."""

_KEEP = text(f"LOCK TABLE ONLY {PARTITIONED[0].name} IN ACCESS SHARE MODE")
_CHILDREN = text(
    "SELECT p.name, c.relname FROM unnest(CAST(:tables AS text[])) AS p(name)"
    " JOIN pg_inherits i ON i.inhparent = CAST(p.name AS regclass) JOIN pg_class c ON c.oid = i.inhrelid"
)


def ensure(connection: Connection, days: Iterable[date]) -> None:
    """Make the partitions of these days where they are missing; ingestion goes on meanwhile.

    `CREATE … (LIKE)` and `ATTACH` need a weaker lock on the parent than `CREATE … PARTITION OF`.
    """
    wanted = sorted(set(days))
    if not wanted:
        return
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    for table in PARTITIONED:
        there = set(_days(connection, table.name))
        for day in wanted:
            if day in there:
                continue
            child = _name(table.name, day)
            connection.execute(
                text(
                    f"CREATE TABLE {child} (LIKE {table.name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)"
                )
            )
            connection.execute(
                text(
                    f"ALTER TABLE {table.name} ATTACH PARTITION {child}"
                    f" FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}')"
                )
            )


def existing(connection: Connection) -> list[date]:
    """Days that can be ingested in: those with a partition of every fact table, ascending."""
    per_table = [set(_days(connection, table.name)) for table in PARTITIONED]
    return sorted(set.intersection(*per_table))


def oldest(connection: Connection) -> date | None:
    """The first day that any fact table has a partition of; None: there is none."""
    names = [table.name for table in PARTITIONED]
    return min((day for days in _days_of(connection, names).values() for day in days), default=None)


def keep(connection: Connection) -> None:
    """Let no day be dropped until the transaction ends.

    For whoever reads facts in a snapshot, before the statement that begins it: a table that is dropped
    afterwards is gone for the snapshot too, while the rows that speak of its facts are not.
    """
    connection.execute(_KEEP)


def lock(connection: Connection) -> None:
    """Let nobody read or write facts until the transaction ends, after those who do have finished.

    Raises `DatabaseBusy` when they hold a table for too long: roll back, and try again later.
    """
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    connection.execute(text(f"SET LOCAL lock_timeout = {_PATIENCE_MS}"))
    first, *others = (f"ONLY {table.name}" for table in PARTITIONED)
    connection.execute(text(f"LOCK TABLE {first} IN ACCESS EXCLUSIVE MODE"))
    # Whoever reads another of them reads the first one too, and so has finished. If not, waiting here
    # with the first in hand could be a circle, and the server would cancel a reader to break it.
    connection.execute(text(f"LOCK TABLE {', '.join(others)} IN ACCESS EXCLUSIVE MODE NOWAIT"))


def drop(connection: Connection, before: date) -> list[date]:
    """Drop all facts of the days before `before`; the days dropped, ascending.

    Raises `DatabaseBusy` like `lock`.
    """
    lock(connection)
    dropped = set()
    for table in PARTITIONED:
        for day in _days(connection, table.name):
            if day < before:
                connection.execute(text(f"DROP TABLE {_name(table.name, day)}"))
                dropped.add(day)
    return sorted(dropped)


def _name(table: str, day: date) -> str:
    return f"{table}_{day:%Y%m%d}"


def _days(connection: Connection, table: str) -> list[date]:
    return _days_of(connection, [table])[table]


def _days_of(connection: Connection, tables: Sequence[str]) -> dict[str, list[date]]:
    """The days of each table, ascending."""
    rows = connection.execute(_CHILDREN, {"tables": list(tables)}).all()
    found: dict[str, list[date]] = {table: [] for table in tables}
    for table, child in rows:
        suffix = child.removeprefix(f"{table}_")
        if suffix.isdigit() and len(suffix) == 8:
            found[table].append(date.fromisoformat(suffix))
    return {table: sorted(days) for table, days in found.items()}
