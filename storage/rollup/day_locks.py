"""Locks on days: at most one transaction writes a day's cells.

Merging, rebuilding and compacting read cells and write them back, so they exclude each other by day. One advisory lock
per day, taken in ascending order, replaces thousands of row locks.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

_CLASS = 0x666C6370
"""First key of the advisory locks; the second is the day."""


def lock_days(connection: Connection, days: Iterable[int]) -> None:
    """Wait for the locks of the days (since 1970) and hold them until the transaction ends."""
    for day in sorted(set(days)):
        connection.execute(text("SELECT pg_advisory_xact_lock(:class, :day)"), {"class": _CLASS, "day": day})


@contextmanager
def locked_snapshot(engine: Engine, days: Iterable[int]) -> Iterator[Connection]:
    """Lock the days, then open a REPEATABLE READ transaction, so its snapshot is newer than the locks.

    A snapshot begins with the transaction's first statement, so the locks are session locks that are taken before it.
    """
    wanted = sorted(set(days))
    with engine.connect() as connection:
        try:
            for day in wanted:
                connection.execute(
                    text("SELECT pg_advisory_lock(:class, :day)"), {"class": _CLASS, "day": day}
                )
            connection.commit()
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            yield connection
            connection.commit()
        except BaseException:
            # Closing the session releases its locks, whatever state it is in.
            connection.invalidate()
            raise
        for day in wanted:
            connection.execute(text("SELECT pg_advisory_unlock(:class, :day)"), {"class": _CLASS, "day": day})
        connection.commit()
