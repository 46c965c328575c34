"""Cells of hours go after a few weeks: by then a day is precise enough, and they are most of the rows."""

from datetime import date

from sqlalchemy import Connection, delete, select

from storage.rolling.cubes import CUBES, HOUR, HOURS_A_DAY, day_number
from storage.schema import roll, stratum


def drop_hours(connection: Connection, before: date) -> int:
    """Delete the hour cells of the days before `before`; the number of them."""
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    c = roll.c
    return connection.execute(
        delete(roll).where(
            c.cube.in_([cube.id for cube in CUBES if cube.hours]),
            c.stratum_id.in_(strata),
            c.level == HOUR,
            c.bucket < day_number(before) * HOURS_A_DAY,
        )
    ).rowcount
