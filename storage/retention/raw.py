"""Raw captures go with their day's facts, blob first."""

from dataclasses import dataclass
from datetime import date

from sqlalchemy import Connection, case, delete, func, select, update

from storage.archive import Archive
from storage.schema import capture, capture_binary

BATCH = 500


@dataclass(frozen=True, slots=True)
class DroppedCaptures:
    """Of one batch, or of several."""

    captures: int = 0
    never_ingested: int = 0
    """Of those: nothing of them was ever ingested, and now never will be (`capture.expired`)."""

    def __add__(self, other: "DroppedCaptures") -> "DroppedCaptures":
        return DroppedCaptures(self.captures + other.captures, self.never_ingested + other.never_ingested)


def drop_captures(
    connection: Connection, archive: Archive, before: date, *, limit: int = BATCH
) -> DroppedCaptures:
    """Delete up to `limit` raw captures of the days before `before`.

    Their rows stay and say what became of them, but nothing is to be ingested from them any more. Call
    it, each time in a transaction of its own, until nothing is left. After a crash in between a row
    names a blob that is gone until the next call; the other way round the blob would stay for good.
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
