"""Which days have cells, and whether they are folded (table `roll_day`).

A day's first merging opens it: its facts are in cells of hours. Once it is over it is folded (`fold`), and
has cells of the whole day beside them. Only who holds a day's lock (`locks`) changes its row.
"""

from collections.abc import Collection

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.rolling.cubes import day_number, day_of
from storage.schema import roll_day


def folded(connection: Connection, days: Collection[int]) -> frozenset[int]:
    """Those of the days (since 1970) that have cells of the whole day."""
    c = roll_day.c
    wanted = [day_of(day) for day in days]
    found = connection.scalars(select(c.day).where(c.day.in_(wanted), c.folded_at.is_not(None)))
    return frozenset(map(day_number, found))


def unfolded(connection: Connection) -> frozenset[int]:
    """All days whose facts are in cells of hours alone."""
    found = connection.scalars(select(roll_day.c.day).where(roll_day.c.folded_at.is_(None)))
    return frozenset(map(day_number, found))


def change(connection: Connection, days: Collection[int]) -> None:
    """Say that the cells of these days are written; a new one is not folded. No bucket with one of them is used from now on."""
    rows = [{"day": day_of(day)} for day in sorted(days)]
    if rows:
        statement = insert(roll_day).values(rows)
        more = {"changes": roll_day.c.changes + 1}
        connection.execute(statement.on_conflict_do_update(index_elements=[roll_day.c.day], set_=more))


def set_folded(connection: Connection, day: int) -> None:
    """Say that the cells of the whole day are there."""
    connection.execute(update(roll_day).where(roll_day.c.day == day_of(day)).values(folded_at=func.now()))


def forget(connection: Connection, before: int) -> int:
    """Forget the days before this one, whose cells are gone; the number of them."""
    return connection.execute(delete(roll_day).where(roll_day.c.day < day_of(before))).rowcount
