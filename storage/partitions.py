"""Partitions of the fact tables: one per UTC day, created ahead and dropped whole.

A day's partition of table `profile` is named `profile_20261121`.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from sqlalchemy import Connection, text

from storage.schema import PARTITIONED

_LOCK = 0x666C_6565_7402
"""Advisory lock for creating and dropping partitions."""
_PATIENCE_MS = 2_000
"""Maximum wait for readers when dropping: all other statements queue behind it meanwhile."""

_KEEP = text(f"LOCK TABLE ONLY {PARTITIONED[0].name} IN ACCESS SHARE MODE")
_CHILDREN = text(
    "SELECT p.name, c.relname FROM unnest(CAST(:tables AS text[])) AS p(name)"
    " JOIN pg_inherits i ON i.inhparent = CAST(p.name AS regclass) JOIN pg_class c ON c.oid = i.inhrelid"
)


def ensure(connection: Connection, days: Iterable[date]) -> None:
    """Create missing partitions of these days without blocking ingestion.

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
    """Days that can be ingested: those with a partition of every fact table, ascending."""
    per_table = [set(_days(connection, table.name)) for table in PARTITIONED]
    return sorted(set.intersection(*per_table))


def oldest(connection: Connection) -> date | None:
    """The first day with a partition of any fact table; None: there is none."""
    names = [table.name for table in PARTITIONED]
    return min((day for days in _days_of(connection, names).values() for day in days), default=None)


def keep(connection: Connection) -> None:
    """Prevent drops of days until the transaction ends.

    Call it before the statement that starts a snapshot in which facts are read. A table dropped later disappears from
    the snapshot, too, while rows that refer to its facts do not.
    """
    connection.execute(_KEEP)


def lock(connection: Connection) -> None:
    """Block reading and writing of facts until the transaction ends, after running readers and writers have finished.

    Raises `DatabaseBusy` if they hold a table for too long: roll back, and retry later.
    """
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    connection.execute(text(f"SET LOCAL lock_timeout = {_PATIENCE_MS}"))
    first, *others = (f"ONLY {table.name}" for table in PARTITIONED)
    connection.execute(text(f"LOCK TABLE {first} IN ACCESS EXCLUSIVE MODE"))
    # Readers of the other tables also read the first one, so they have finished. If not, waiting here with the first
    # lock held could deadlock, and the server would cancel a reader to resolve that.
    connection.execute(text(f"LOCK TABLE {', '.join(others)} IN ACCESS EXCLUSIVE MODE NOWAIT"))


def drop(connection: Connection, before: date) -> list[date]:
    """Drop all facts of the days before `before`; return the dropped days, ascending.

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
