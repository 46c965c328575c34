"""Deletes cells, their coverage and exposure, and visits.

They are deleted in whole buckets of the coarsest cells, so that no cell outlives the coverage of any of its days.
"""

from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import Connection, and_, delete, or_, select

from storage.rollup import rollup_days
from storage.rollup.cubes import DAY, HOUR, HOURS_A_DAY, WEIGHTED_LEVELS, bucket_days, day_number
from storage.schema import (
    campaign,
    capture,
    capture_binary,
    capture_counter,
    capture_cpu,
    capture_segment,
    capture_system,
    coverage,
    covered_time,
    exposure,
    rollup,
    rollup_long,
    rollup_long_built,
    visit,
)

BATCH = 1000


def kept_from(day: date) -> date:
    """The first day of the coarsest bucket that contains `day`."""
    return day - timedelta(days=day_number(day) % bucket_days(WEIGHTED_LEVELS[-1]))


def drop_cells(connection: Connection, before: date) -> int:
    """Drop all cells, coverage and exposure before `before`, the first day of a bucket; return the number of rows.

    Buckets have 64 days, so there are rows to drop only every 64 days.
    """
    old = [select(table.c.day).where(table.c.day < before).exists() for table in (exposure, coverage)]
    if not connection.scalar(select(or_(*old))):
        return 0
    first = day_number(before)
    merged = [
        and_(table.c.level == level, table.c.bucket < first // bucket_days(level))
        for table in (rollup_long, rollup_long_built)
        for level in WEIGHTED_LEVELS
    ]
    half = len(WEIGHTED_LEVELS)
    statements = (
        delete(rollup_long).where(or_(*merged[:half])),
        delete(rollup_long_built).where(or_(*merged[half:])),
        delete(rollup).where(
            or_(
                and_(rollup.c.level == DAY, rollup.c.bucket < first),
                and_(rollup.c.level == HOUR, rollup.c.bucket < first * HOURS_A_DAY),
            )
        ),
        *(delete(table).where(table.c.day < before) for table in (exposure, coverage)),
        delete(covered_time).where(covered_time.c.ends <= datetime.combine(before, time(), UTC)),
    )
    return sum(connection.execute(statement).rowcount for statement in statements) + rollup_days.forget(
        connection, first
    )


def drop_visits(connection: Connection, before: date, *, limit: int = BATCH) -> int:
    """Delete up to `limit` visits of one campaign before `before` with their data; return their number.

    Call it until it returns 0, each time in its own transaction. A visit whose raw capture could not be deleted stays,
    since its row identifies the blob.
    """
    raw = select(capture.c.visit_id).where(capture.c.visit_id == visit.c.visit_id, capture.c.blob != "")
    old = and_(visit.c.day < before, ~raw.exists())
    # One campaign per call, since the index of days begins with the campaign.
    for campaign_id in connection.scalars(select(campaign.c.campaign_id)).all():
        ids = connection.scalars(
            select(visit.c.visit_id)
            .where(visit.c.campaign_id == campaign_id, old)
            .limit(limit)
            .with_for_update(skip_locked=True, of=visit)
        ).all()
        if ids:
            contributions = (capture_segment, capture_binary, capture_cpu, capture_counter, capture_system)
            for table in (*contributions, capture, visit):
                connection.execute(delete(table).where(table.c.visit_id.in_(ids)))
            return len(ids)
    return 0
