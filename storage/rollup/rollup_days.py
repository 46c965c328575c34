"""Table `rollup_day`: which days have cells, and which of them have daily rollups.

The first merge of a day inserts its row; its facts are then in hour cells only. Once the day is over, its daily rollup
(`daily`) adds day cells. Only the holder of a day's lock (`day_locks`) changes its row.
"""

from collections.abc import Collection

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.rollup.cubes import day_number, day_of
from storage.schema import rollup_day


def with_daily_rollup(connection: Connection, days: Collection[int]) -> frozenset[int]:
    """The given days (since 1970) that have day cells."""
    c = rollup_day.c
    wanted = [day_of(day) for day in days]
    found = connection.scalars(select(c.day).where(c.day.in_(wanted), c.rolled_up_at.is_not(None)))
    return frozenset(map(day_number, found))


def without_daily_rollup(connection: Connection) -> frozenset[int]:
    """All days whose facts are in hour cells only."""
    found = connection.scalars(select(rollup_day.c.day).where(rollup_day.c.rolled_up_at.is_(None)))
    return frozenset(map(day_number, found))


def change(connection: Connection, days: Collection[int]) -> None:
    """Record that cells of these days are written, and insert missing days.

    This outdates every bucket that contains one of the days.
    """
    rows = [{"day": day_of(day)} for day in sorted(days)]
    if rows:
        statement = insert(rollup_day).values(rows)
        more = {"changes": rollup_day.c.changes + 1}
        connection.execute(statement.on_conflict_do_update(index_elements=[rollup_day.c.day], set_=more))


def set_rolled_up(connection: Connection, day: int) -> None:
    """Record that the day cells are written."""
    connection.execute(
        update(rollup_day).where(rollup_day.c.day == day_of(day)).values(rolled_up_at=func.now())
    )


def forget(connection: Connection, before: int) -> int:
    """Delete the rows of days before `before`, whose cells are gone; return their number."""
    return connection.execute(delete(rollup_day).where(rollup_day.c.day < day_of(before))).rowcount
