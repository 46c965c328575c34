"""Retention of hour cells: after a few weeks a day is precise enough, and hours are most of the rows."""

from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection, Date, Integer, delete, func, literal, select, type_coerce

from storage.rollup.cubes import CUBES, DAY, EVENT, HOUR, HOURS_A_DAY, HOURS_KEPT_DAYS, day_number, day_of
from storage.schema import rollup, rollup_day, stratum
from storage.snapshots.copy_binary import among

_CLASSES = (-1, 0, 1, 2, 3)


def drop_hours(connection: Connection, before: date) -> int:
    """Delete hour cells of days before `before` that have a daily rollup; return their number.

    It is one statement, so the days with daily rollups and their cells come from the same snapshot.
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
    """The given days (since 1970) whose hour cells are dropped; visits are added to their day cells only.

    This is read from the cells themselves, as the process that dropped them may have another clock.
    """
    if not with_daily_rollup:
        return frozenset()
    today: date = connection.execute(select(func.current_date())).scalar_one()
    # One day less than the retention, to allow for a different clock.
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
    """Whether any cell exists. The event's cells hold all facts, so one of those is enough."""
    c = rollup.c
    found = select(c.cube).where(
        c.cube == EVENT.id,
        among(c.stratum_id, strata),
        c.utilisation_class.in_(_CLASSES),
        c.level == level,
        among(c.bucket, buckets),
    )
    return connection.execute(found.limit(1)).first() is not None
