"""Cells of hours go after a few weeks: by then a day is precise enough, and they are most of the rows."""

from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection, Date, Integer, delete, func, literal, select, type_coerce

from storage.rollup.cubes import CUBES, DAY, EVENT, HOUR, HOURS_A_DAY, HOURS_KEPT_DAYS, day_number, day_of
from storage.schema import rollup, rollup_day, stratum
from storage.snapshots.copy_binary import among

_CLASSES = (-1, 0, 1, 2, 3)


def drop_hours(connection: Connection, before: date) -> int:
    """Delete the hour cells of days with a daily rollup before `before`; the number of them.

    One statement, so one snapshot says which days have daily rollups and which cells they have.
    """
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    c = rollup.c
    number = type_coerce(rollup_day.c.day - literal(day_of(0), Date), Integer)
    with_daily_rollup = select(number).where(
        rollup_day.c.rolled_up_at.is_not(None), rollup_day.c.day < before
    )
    return connection.execute(
        delete(rollup).where(
            c.cube.in_([cube.id for cube in CUBES]),
            c.stratum_id.in_(strata),
            c.level == HOUR,
            c.bucket < day_number(before) * HOURS_A_DAY,
            (c.bucket // HOURS_A_DAY).in_(with_daily_rollup),
        )
    ).rowcount


def without_hours(connection: Connection, with_daily_rollup: Collection[int]) -> frozenset[int]:
    """Those of these folded days (since 1970) whose hour cells are gone: they gain and lose day cells alone.

    Told from the cells themselves, as whoever dropped them may have another clock.
    """
    if not with_daily_rollup:
        return frozenset()
    today: date = connection.execute(select(func.current_date())).scalar_one()
    # A day less than are kept, for another clock again.
    old = [day for day in with_daily_rollup if day <= day_number(today) - HOURS_KEPT_DAYS + 1]
    if not old:
        return frozenset()
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    return frozenset(
        day
        for day in old
        if _any(connection, strata, DAY, [day])
        and not _any(connection, strata, HOUR, list(range(day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY)))
    )


def _any(connection: Connection, strata: list[int], level: int, buckets: list[int]) -> bool:
    """Whether there is a cell; one of the event's, which hold all there is, is as good as any."""
    c = rollup.c
    found = select(c.cube).where(
        c.cube == EVENT.id,
        among(c.stratum_id, strata),
        c.utilisation_class.in_(_CLASSES),
        c.level == level,
        among(c.bucket, buckets),
    )
    return connection.execute(found.limit(1)).first() is not None
