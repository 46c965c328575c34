"""Which days have cells, and whether they have daily rollups (table `rollup_day`).

A day's first merging opens it: its facts are in cells of hours. Once it is over it has a daily rollup (`fold`), and
has cells of the whole day beside them. Only who holds a day's lock (`locks`) changes its row.
"""

from collections.abc import Collection

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.rollup.cubes import day_number, day_of
from storage.schema import rollup_day


def with_daily_rollup(connection: Connection, days: Collection[int]) -> frozenset[int]:
    """Those of the days (since 1970) that have cells of the whole day."""
    c = rollup_day.c
    wanted = [day_of(day) for day in days]
    found = connection.scalars(select(c.day).where(c.day.in_(wanted), c.rolled_up_at.is_not(None)))
    return frozenset(map(day_number, found))


def without_daily_rollup(connection: Connection) -> frozenset[int]:
    """All days whose facts are in cells of hours alone."""
    found = connection.scalars(select(rollup_day.c.day).where(rollup_day.c.rolled_up_at.is_(None)))
    return frozenset(map(day_number, found))


def change(connection: Connection, days: Collection[int]) -> None:
    """Say that the cells of these days are written; a new one is without a daily rollup. No bucket with one of them is used from now on."""
    rows = [{"day": day_of(day)} for day in sorted(days)]
    if rows:
        statement = insert(rollup_day).values(rows)
        more = {"changes": rollup_day.c.changes + 1}
        connection.execute(statement.on_conflict_do_update(index_elements=[rollup_day.c.day], set_=more))


def set_rolled_up(connection: Connection, day: int) -> None:
    """Say that the cells of the whole day are there."""
    connection.execute(
        update(rollup_day).where(rollup_day.c.day == day_of(day)).values(rolled_up_at=func.now())
    )


def forget(connection: Connection, before: int) -> int:
    """Forget the days before this one, whose cells are gone; the number of them."""
    return connection.execute(delete(rollup_day).where(rollup_day.c.day < day_of(before))).rowcount
