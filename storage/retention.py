"""What is kept for how long: facts by partition (`storage.partitions`), raw captures here.

Raw captures live as long as profiles, so that better symbols can be landed for as long as there is
something to improve. Visits and coverage stay: they are small, and what was asked of whom is history.
"""

from datetime import date

from sqlalchemy import Connection, delete, select

from storage.archive import Archive
from storage.schema import capture, capture_binary, capture_counter, capture_cpu, capture_segment

BATCH = 500


def drop_captures(connection: Connection, archive: Archive, before: date, *, limit: int = BATCH) -> int:
    """Delete up to `limit` captures of the days before `before`, blob first; the number of them.

    Call it, each time in a transaction of its own, until it returns 0. After a crash in between a
    row points at nothing until the next call; the other way round the blob would stay for good.
    """
    old = connection.execute(
        select(capture.c.visit_id, capture.c.blob)
        .where(capture.c.day < before)
        .order_by(capture.c.day)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    if not old:
        return 0
    for row in old:
        archive.delete(row.blob)
    ids = [row.visit_id for row in old]
    for table in (capture_binary, capture_counter, capture_cpu, capture_segment, capture):
        connection.execute(delete(table).where(table.c.visit_id.in_(ids)))
    return len(ids)
