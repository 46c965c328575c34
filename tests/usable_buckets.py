"""Which buckets of closed days questions would take now."""

from datetime import UTC, datetime

from sqlalchemy import Connection, select

from storage.query.estimation.strata import read_strata
from storage.rollup import input_fingerprint
from storage.rollup.cubes import CUBES, HOURS_A_DAY, Source, day_number
from storage.rollup.time_cover import Bucket, read_state
from storage.schema import exposure


def usable_buckets(connection: Connection) -> set[tuple[Source, Bucket]]:
    """Those of all sources that are written, of whose days nothing waits, and which were made of what their days have."""
    c = exposure.c
    days = connection.scalars(select(c.day).distinct()).all()
    if not days:
        return set()
    # Whole buckets of the largest kind.
    first, end = min(map(day_number, days)) // 64 * 64, (max(map(day_number, days)) // 64 + 1) * 64
    start, until = (datetime.fromtimestamp(86400 * day, UTC) for day in (first, end))
    hours = {"first": first * HOURS_A_DAY, "end": end * HOURS_A_DAY}
    found = set()
    for campaign, stacks, sample_type in connection.execute(
        select(c.campaign_id, c.stacks, c.sample_type_id).distinct()
    ).all():
        strata = read_strata(connection, campaign, start, until)
        if strata is None:
            continue
        state = read_state(connection, campaign, sample_type, **hours)
        for cube in CUBES:
            source = Source(cube, campaign, stacks, sample_type)
            usable = input_fingerprint.usable(connection, state, source, strata, **hours)
            found |= {(source, bucket) for bucket in usable}
    return found
