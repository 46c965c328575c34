"""Rebuild a day's cells from its chunks when they are suspected to be wrong.

The result equals that of incremental merging, because both derive from the same facts: visits without a waiting +1
enter with their current profiles, visits with a waiting −1 with their replaced ones. The queue is unchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import numpy as np
from sqlalchemy import Connection, Engine, delete, exists, select, union
from sqlalchemy.sql.elements import ColumnElement

from storage import partitions
from storage.arrays import distinct
from storage.rollup import cell_store, exposures, queue_entries, rollup_days
from storage.rollup.cubes import CUBES, DAY, HOUR, HOURS_A_DAY, day_number
from storage.rollup.day_locks import locked_snapshot
from storage.rollup.errors import DayGone, UnknownApplication
from storage.rollup.hourly_retention import without_hours
from storage.rollup.merge import KEY, Gains, gains
from storage.rollup.queue_entries import Entry
from storage.rollup.stack_functions import StackFunctions
from storage.schema import capture_segment, dim_value, exposure, profile, rollup, rollup_queue

_BATCH = 400
_BY_APPLICATION = [cube for cube in CUBES if "application" in cube.keys]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a day's cells were built from."""

    visits: int
    facts: int


def rebuild(
    engine: Engine,
    day: date,
    application: int | None = None,
    *,
    stack_functions: StackFunctions | None = None,
) -> Rebuilt:
    """Rebuild a day's hour cells, its day cells if it has a daily rollup, and its exposure, in one transaction.

    Hour cells that retention has dropped are not rebuilt. With an application (`dim_value` id), only cells with that
    key are rebuilt; the event's cells, which hold all applications, and the exposure are unchanged. Writers of the day
    wait meanwhile. Raises `DayGone` if the day's facts were dropped, `CorruptChunk` if one is damaged.
    """
    functions = stack_functions or StackFunctions()
    number = day_number(day)
    facts = visits = 0
    with locked_snapshot(engine, [number]) as connection:
        partitions.keep(
            connection
        )  # else the day could be dropped meanwhile and its cells rebuilt from nothing
        if day not in partitions.existing(connection):
            raise DayGone(f"The retention time of the facts of {day} is over.")
        with_daily_rollup = rollup_days.with_daily_rollup(connection, [number])
        hourless = without_hours(connection, with_daily_rollup)
        rollup_days.change(connection, [number])
        _remove(connection, number, application)
        for part in _merged_visits(connection, day):
            batch = queue_entries.read_batch(connection, part)
            functions.load(connection, distinct(batch.stack)[0])
            gained = gains(batch, functions, with_daily_rollup, hourless)
            if application is None:
                exposures.add(connection, batch)
            else:
                gained = [g for g in (_of_application(g, application) for g in gained) if len(g)]
            cell_store.add(connection, gained)
            visits += len(part)
            facts += len(batch.stack)
    return Rebuilt(visits, facts)


def application_id(engine: Engine, name: str) -> int:
    """The `dim_value` id for `rebuild`. Raises `UnknownApplication`."""
    found = select(dim_value.c.value_id).where(dim_value.c.dim == "application", dim_value.c.value == name)
    with engine.connect() as connection:
        id_ = connection.scalar(found)
    if id_ is None:
        raise UnknownApplication(f"Unknown application {name!r}.")
    return int(id_)


def _of_application(gains: Gains, application: int) -> Gains:
    """The cells of one application. All applications are read, because moments hold products with the whole event."""
    cube, k1 = (gains.key[:, KEY.index(name)] for name in ("cube", "k1"))
    return gains.of(np.flatnonzero(np.isin(cube, [c.id for c in _BY_APPLICATION]) & (k1 == application)))


def _remove(connection: Connection, day: int, application: int | None) -> None:
    first = day * HOURS_A_DAY
    for level, buckets in ((DAY, [day]), (HOUR, list(range(first, first + HOURS_A_DAY)))):
        for cube in CUBES if application is None else _BY_APPLICATION:
            statement = delete(rollup).where(
                rollup.c.cube == cube.id, rollup.c.level == level, rollup.c.bucket.in_(buckets)
            )
            if application is not None:
                statement = statement.where(rollup.c.k1 == application)
            connection.execute(statement)
    if application is None:
        connection.execute(
            delete(exposure).where(exposure.c.hour >= first, exposure.c.hour < first + HOURS_A_DAY)
        )


def _merged_visits(connection: Connection, day: date) -> Iterator[Sequence[Entry]]:
    """The visits that are in the day's cells, in parts."""

    def in_cells(visit_id: ColumnElement[UUID]) -> ColumnElement[bool]:
        return ~exists().where(rollup_queue.c.visit_id == visit_id, rollup_queue.c.sign == 1)

    as_now = connection.scalars(
        union(
            *(
                select(table.c.visit_id).where(table.c.day == day, in_cells(table.c.visit_id))
                for table in (capture_segment, profile)
            )
        )
    )
    found = [Entry(day, visit_id, 1, None) for visit_id in sorted(as_now)]
    before = connection.execute(
        select(rollup_queue.c.visit_id, rollup_queue.c.entry_id)
        .where(rollup_queue.c.day == day, rollup_queue.c.sign == -1)
        .order_by(rollup_queue.c.entry_id)
    )
    found += [Entry(day, row.visit_id, 1, row.entry_id) for row in before]
    for start in range(0, len(found), _BATCH):
        yield from queue_entries.portions(connection, found[start : start + _BATCH])
