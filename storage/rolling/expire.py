"""Cells of hours go after a few weeks: by then a day is precise enough, and they are most of the rows."""

from datetime import date

from sqlalchemy import Connection, delete, select

from storage.rolling import days
from storage.rolling.cubes import CUBES, HOUR, HOURS_A_DAY, day_number
from storage.schema import roll, stratum


def drop_hours(connection: Connection, before: date) -> int:
    """Delete the hour cells of the folded days before `before`; the number of them."""
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    c = roll.c
    first = day_number(before)
    alone = [day for day in days.unfolded(connection) if day < first]
    return connection.execute(
        delete(roll).where(
            c.cube.in_([cube.id for cube in CUBES]),
            c.stratum_id.in_(strata),
            c.level == HOUR,
            c.bucket < first * HOURS_A_DAY,
            *(c.bucket // HOURS_A_DAY != day for day in alone),
        )
    ).rowcount
