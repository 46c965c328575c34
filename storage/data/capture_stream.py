"""Streams raw captures in draw order or archiving order. No resource is held between pages."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import select

from storage.archive import Archive
from storage.data.cancellation import Stop
from storage.data.capture_query import AskedCaptures
from storage.data.progress import Horizon, horizon, settled
from storage.data.snapshots import Source
from storage.data.stream_position import Order, Place
from storage.data.visit_rows import VisitRow, read_visits
from storage.data.visit_stream import PAGE_VISITS, POLL_S, Looking
from storage.errors import BlobMissing, BlobTooLarge
from storage.schema import capture


class Trouble(Enum):
    """Why a capture is unavailable."""

    EXPIRED = "Its retention time is over."
    MISSING = "It is missing from the archive."
    CORRUPT = "The archive contains other data than was written."
    TOO_LARGE = "It exceeds the size limit of a record."


@dataclass(frozen=True, slots=True)
class RawCapture:
    """A capture as archived, or why it is unavailable."""

    place: Place
    visit: VisitRow
    blob: bytes = b""
    trouble: Trouble | None = None


class CaptureWalker:
    """Iterates captures for all streams of a process. Safe to share between threads."""

    def __init__(self, source: Source, archive: Archive, *, poll_s: float = POLL_S) -> None:
        """`poll_s`: time between two polls for new captures."""
        self._source = source
        self._archive = archive
        self._poll_s = poll_s

    def walk(
        self, asked: AskedCaptures, after: Place, stop: Stop, *, most_bytes: int
    ) -> Iterator[RawCapture | Looking]:
        """The captures behind a place in draw order; then it ends.

        A capture over `most_bytes` is `TOO_LARGE`. Raises `storage.errors.ArchiveUnavailable`.
        """
        if asked.campaign_id is None:
            return
        place, last = after, False
        while not last:
            with self._source.reading(stop) as connection:
                conditions = asked.conditions(connection)
                rows = read_visits(connection, conditions, Order.DRAWN, place, limit=PAGE_VISITS)
            last = len(rows) < PAGE_VISITS
            passed = [row for row in rows if asked.passes(row)]
            for row in passed:
                stop.check()
                yield self._fetched(row, row.place(Order.DRAWN), stop, most_bytes)
            if rows:
                place = rows[-1].place(Order.DRAWN)
                if not passed:
                    yield Looking(place)

    def follow(
        self, asked: AskedCaptures, after: Place, stop: Stop, *, most_bytes: int
    ) -> Iterator[RawCapture | Looking]:
        """The captures that are archived behind a place, in archiving order, without an end."""
        place = after
        until: Horizon | None = None
        while True:
            # In a transaction before the one that reads rows, whose snapshot must include the writers' commits.
            with self._source.reading(stop) as connection:
                until = until or horizon(connection)
                ready = settled(connection, until)
            rows: list[VisitRow] = []
            if ready:
                with self._source.reading(stop) as connection:
                    archived = (*asked.conditions(connection), capture.c.archived_at < until.moment)
                    rows = read_visits(connection, archived, Order.ARCHIVED, place, limit=PAGE_VISITS)
            for row in rows:
                place = row.place(Order.ARCHIVED)
                stop.check()
                if asked.passes(row):
                    yield self._fetched(row, place, stop, most_bytes)
            if rows:
                continue
            if ready:
                place, until = max(place, Place(until.moment)), None
            yield Looking(place)
            stop.wait(self._poll_s)
            stop.check()

    def _fetched(self, row: VisitRow, place: Place, stop: Stop, most_bytes: int) -> RawCapture:
        if not row.capture.blob:
            return RawCapture(place, row, trouble=Trouble.EXPIRED)
        if row.capture.size > most_bytes:
            return RawCapture(place, row, trouble=Trouble.TOO_LARGE)
        try:
            blob = self._archive.get(row.capture.blob, limit=max(row.capture.size, 1))
        except BlobMissing:
            gone = self._is_gone(row, stop)
            return RawCapture(place, row, trouble=Trouble.EXPIRED if gone else Trouble.MISSING)
        except BlobTooLarge:
            return RawCapture(place, row, trouble=Trouble.CORRUPT)
        if hashlib.sha256(blob).digest() != row.capture.sha256:
            return RawCapture(place, row, trouble=Trouble.CORRUPT)
        return RawCapture(place, row, blob)

    def _is_gone(self, row: VisitRow, stop: Stop) -> bool:
        """Whether retention deleted the blob; it deletes the blob before it updates the row."""
        with self._source.reading(stop) as connection:
            blob = connection.scalar(select(capture.c.blob).where(capture.c.visit_id == row.id))
        return not blob
