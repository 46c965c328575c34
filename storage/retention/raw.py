"""Deletes raw captures together with their day's facts, the blob first."""

from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, case, delete, func, select, update

from storage.archive import Archive
from storage.schema import capture, capture_binary

BATCH = 500


@dataclass(frozen=True, slots=True)
class DroppedCaptures:
    """Counts of one or several batches."""

    captures: int = 0
    never_ingested: int = 0
    """The captures that were never ingested and can never be (`capture.expired`)."""

    def __add__(self, other: "DroppedCaptures") -> "DroppedCaptures":
        return DroppedCaptures(self.captures + other.captures, self.never_ingested + other.never_ingested)


def drop_captures(
    connection: Connection, archive: Archive, before: date, *, limit: int = BATCH
) -> DroppedCaptures:
    """Delete up to `limit` raw captures of the days before `before`.

    Their rows stay and record the outcome, but cannot be ingested any more. Call it until nothing is left, each time
    in its own transaction. After a crash in between, a row names a deleted blob until the next call; in the opposite
    order the blob would stay for ever.
    """
    old = connection.execute(
        select(capture.c.visit_id, capture.c.blob, capture.c.ingested)
        .where(capture.c.day < before, capture.c.blob != "")
        .order_by(capture.c.day)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    if not old:
        return DroppedCaptures()
    for row in old:
        archive.delete(row.blob)
    ids = [row.visit_id for row in old]
    connection.execute(delete(capture_binary).where(capture_binary.c.visit_id.in_(ids)))
    connection.execute(
        update(capture)
        .where(capture.c.visit_id.in_(ids))
        .values(
            blob="",
            expired=capture.c.expired | (capture.c.ingested == 0),
            ingested=capture.c.wanted,
            leased_until=None,
            failure=case(
                (capture.c.ingested == 0, func.coalesce(capture.c.quarantined, capture.c.failure)), else_=""
            ),
            quarantined=None,
        )
    )
    return DroppedCaptures(len(old), sum(row.ingested == 0 for row in old))
