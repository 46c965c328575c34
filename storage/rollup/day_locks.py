"""Who may write a day's cells: one at a time, whatever writes them.

Merging, rebuilding and compacting read cells and write them back, so they exclude each other by day. One
advisory lock a day, always taken in ascending order, does what thousands of row locks would.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

_CLASS = 0x666C6370
"""First key of the advisory locks; the second is the day."""


def lock_days(connection: Connection, days: Iterable[int]) -> None:
    """Wait for the days (since 1970) and keep them until the transaction ends."""
    for day in sorted(set(days)):
        connection.execute(text("SELECT pg_advisory_xact_lock(:class, :day)"), {"class": _CLASS, "day": day})


@contextmanager
def locked_snapshot(engine: Engine, days: Iterable[int]) -> Iterator[Connection]:
    """A transaction that sees one moment, later than the one at which the days became ours alone.

    A snapshot begins with its first statement, so the locks are taken before it, by the session.
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
            # The locks go with the session, whatever state it is in.
            connection.invalidate()
            raise
        for day in wanted:
            connection.execute(text("SELECT pg_advisory_unlock(:class, :day)"), {"class": _CLASS, "day": day})
        connection.commit()
