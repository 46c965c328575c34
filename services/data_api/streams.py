"""The two streams as records, the same for gRPC and HTTP."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy import Engine

from fleetpb import data_pb2
from services.data_api.cursor import Cursor
from services.data_api.query_parameters import DEFAULT_TO, StreamQuery
from services.data_api.records import capture_record, design_record, visit_record
from storage.archive import Archive
from storage.data.cancellation import Stop
from storage.data.capture_query import ask_captures
from storage.data.capture_stream import CaptureWalker, RawCapture
from storage.data.progress import completeness, horizon, settled
from storage.data.snapshots import Source
from storage.data.stream_position import Order, Place
from storage.data.stream_query import ended, resolve
from storage.data.visit_stream import POLL_S, DayOver, Item, Looking, Walker
from storage.errors import BadSelection
from storage.query.selections.selection import Selection

QUIET_S = 10.0
"""After this time without a record a stream sends `progress` as a sign of life."""
_FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
_AROUND = 4 << 10
"""Bytes of a capture's record besides the capture."""
_SETTLES_IN_S = 5.0
_LOOK_S = 0.05
_LONG_AGO = timedelta(hours=1)
"""A transaction that does not end is assumed to commit nothing older than this."""

_Record = TypeVar("_Record", data_pb2.ProfileRecord, data_pb2.CaptureRecord)


class Streams:
    """The streams of one process; one object per process. Safe to share between threads."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        *,
        poll_s: float = POLL_S,
        quiet_s: float = QUIET_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`poll_s`: seconds between two polls for new data; `clock` returns seconds."""
        self._source = Source(engine)
        self._profiles = Walker(self._source, poll_s=poll_s)
        self._captures = CaptureWalker(self._source, archive, poll_s=poll_s)
        self._quiet_s = quiet_s
        self._clock = clock

    def profiles(self, query: StreamQuery, stop: Stop) -> Iterator[data_pb2.ProfileRecord]:
        """The records of `Profiles`. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`, `Stopped`."""
        begun = self._begin(query, stop)
        with self._source.reading(stop) as connection:
            known = None if query.cursor is None else query.cursor.stacks
            asked = replace(resolve(connection, begun.selection, stacks=known), order=query.order)
        if query.follow and asked.kind.id is None:
            raise _nothing_yet()
        begun = replace(begun, cursor=replace(begun.cursor, stacks=asked.stacks))

        def record_of(item: Item) -> data_pb2.ProfileRecord | None:
            if isinstance(item, DayOver):
                return design_record(item.weights)
            if isinstance(item, Looking) or (query.only_matching and not item.is_informative):
                return None
            return visit_record(asked, item, query.record_bytes)

        walk = self._profiles.follow if query.follow else self._profiles.walk
        items = ((item.place, record_of(item)) for item in walk(asked, begun.cursor.place, stop))
        yield from self._stream(data_pb2.ProfileRecord, query, begun, asked.campaign_id, items, stop)

    def captures(self, query: StreamQuery, stop: Stop) -> Iterator[data_pb2.CaptureRecord]:
        """The records of `Captures`. Raises as `profiles` does, and `ArchiveUnavailable`."""
        begun = self._begin(query, stop)
        with self._source.reading(stop) as connection:
            asked = ask_captures(connection, begun.selection)

        def record_of(item: RawCapture | Looking) -> data_pb2.CaptureRecord | None:
            if isinstance(item, Looking):
                return None
            return capture_record(item, asked.selection.campaign)

        walk = self._captures.follow if query.follow else self._captures.walk
        most = query.record_bytes - _AROUND
        found = walk(asked, begun.cursor.place, stop, most_bytes=most)
        items = ((item.place, record_of(item)) for item in found)
        yield from self._stream(data_pb2.CaptureRecord, query, begun, asked.campaign_id, items, stop)

    def _stream(  # noqa: PLR0917 - what both streams share
        self,
        kind: type[_Record],
        query: StreamQuery,
        begun: "_Begun",
        campaign_id: int | None,
        items: Iterable[tuple[Place, _Record | None]],
        stop: Stop,
    ) -> Iterator[_Record]:
        if query.follow:
            if campaign_id is None:
                raise _nothing_yet()
            # Its cursor means "from now on", for a caller that loses the stream before any capture is ingested.
            yield kind(cursor=begun.at(begun.cursor.place), progress=data_pb2.StreamProgress())
        last_record_at = self._clock()
        for place, found in items:
            record = found
            if record is None and self._clock() - last_record_at >= self._quiet_s:
                record = kind(progress=data_pb2.StreamProgress())
            if record is not None:
                record.cursor = begun.at(place)
                yield record
                last_record_at = self._clock()
        yield kind(
            cursor=begun.at(Place(begun.selection.end)), progress=self._done(query, begun, campaign_id, stop)
        )

    def _begin(self, query: StreamQuery, stop: Stop) -> "_Begun":
        if query.cursor is not None:
            selection = replace(query.selection, start=query.cursor.start, end=query.cursor.end)
            return _Begun(selection, query.cursor)
        if query.follow and query.times[1] != DEFAULT_TO:
            raise BadSelection("A stream that follows has no end.", hint="Omit the end of the time range.")
        seen = self._seen_until(stop)
        selection = (
            replace(query.selection, end=_FOREVER) if query.follow else ended(query.selection, seen.now)
        )
        place = Place(seen.moment if query.follow else selection.start)
        cursor = Cursor(
            of=query.of,
            query=query.fingerprint,
            order=query.order,
            start=selection.start,
            end=selection.end,
            place=place,
            follow_from=seen.moment,
        )
        return _Begun(selection, cursor)

    def _seen_until(self, stop: Stop) -> "_SeenUntil":
        """The present time, once all that happened before it is visible to readers."""
        with self._source.reading(stop) as connection:
            now = horizon(connection)
        until = self._clock() + _SETTLES_IN_S
        while self._clock() < until:
            with self._source.reading(stop) as connection:
                if settled(connection, now):
                    return _SeenUntil(now.moment, now.moment)
            stop.wait(_LOOK_S)
        return _SeenUntil(now.moment, now.moment - _LONG_AGO)

    def _done(
        self, query: StreamQuery, begun: "_Begun", campaign_id: int | None, stop: Stop
    ) -> data_pb2.StreamProgress:
        cursor = begun.cursor
        following = replace(
            cursor,
            query=query.follow_fingerprint,
            order=Order.INGESTED if query.of == "profiles" else Order.ARCHIVED,
            end=_FOREVER,
            place=Place(cursor.follow_from),
        )
        progress = data_pb2.StreamProgress(done=True, follow_cursor=following.text())
        until = begun.selection.end
        if campaign_id is not None:
            with self._source.reading(stop) as connection:
                found = completeness(connection, campaign_id, begun.selection.start, begun.selection.end)
            until, progress.waiting = found.until, found.waiting
        progress.complete_until.FromDatetime(until.astimezone(UTC).replace(tzinfo=None))
        return progress


@dataclass(frozen=True, slots=True)
class _Begun:
    """A stream's start, new or restored from a cursor."""

    selection: Selection
    cursor: Cursor

    def at(self, place: Place) -> str:
        return replace(self.cursor, place=place).text()


@dataclass(frozen=True, slots=True)
class _SeenUntil:
    """All rows with a time before `moment` are visible."""

    now: datetime
    moment: datetime


def _nothing_yet() -> BadSelection:
    return BadSelection("The campaign has no samples of the event yet.", hint="Retry when there are samples.")
