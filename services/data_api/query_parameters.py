"""The query of a data stream, equal for gRPC and HTTP."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fleetpb import data_pb2
from services.data_api.cursor import Cursor, fingerprint, read_cursor
from services.data_api.errors import BadCursor
from storage.data.stream_position import Order
from storage.errors import BadSelection
from storage.query.selections.selection import (
    DEFAULT_CAMPAIGN,
    DEFAULT_EVENT,
    PATTERNS,
    Selection,
    parse_selection,
)

DEFAULT_RECORD_BYTES = (4 << 20) - (64 << 10)
"""With its overhead it fits 4 MiB, the limit of gRPC clients that set none."""
MOST_RECORD_BYTES = 256 << 20
LEAST_RECORD_BYTES = 1 << 10
DEFAULT_FROM, DEFAULT_TO = "now-1h", "now"
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class StreamQuery:
    """A query of one of the two calls."""

    of: str
    """`profiles` or `captures`."""
    selection: Selection
    times: tuple[str, str]
    """`from` and `to` as the caller wrote them."""
    cursor: Cursor | None
    follow: bool
    record_bytes: int
    only_matching: bool = False

    @property
    def order(self) -> Order:
        """The order of the stream."""
        if not self.follow:
            return Order.DRAWN
        return Order.INGESTED if self.of == "profiles" else Order.ARCHIVED

    @property
    def fingerprint(self) -> str:
        """The fingerprint that a cursor must have. A cursor of a stream that follows contains the times itself."""
        return _fingerprint(self.selection, ("", "") if self.follow else self.times)

    @property
    def follow_fingerprint(self) -> str:
        """The fingerprint of the same query with `follow`."""
        return _fingerprint(self.selection, ("", ""))


def make_query(
    of: str,
    selection: Selection,
    times: tuple[str, str],
    *,
    cursor: str = "",
    follow: bool = False,
    record_bytes: int = 0,
    only_matching: bool = False,
) -> StreamQuery:
    """Build a query from its parts. Raises `BadSelection`, and `BadCursor` for a cursor of another query.

    The first of `times` may be "": not given. It then is `DEFAULT_FROM`, or for a stream that follows the earliest
    time: captures that are ingested now may have been drawn long ago.
    """
    if record_bytes and not LEAST_RECORD_BYTES <= record_bytes <= MOST_RECORD_BYTES:
        raise BadSelection(
            f"Invalid max_record_bytes {record_bytes:,}: expected {LEAST_RECORD_BYTES:,} to "
            f"{MOST_RECORD_BYTES:,}."
        )
    if follow and not times[0]:
        selection = replace(selection, start=_EVER)
    query = StreamQuery(
        of=of,
        selection=selection,
        times=(times[0] or DEFAULT_FROM, times[1]),
        cursor=read_cursor(cursor) if cursor else None,
        follow=follow,
        record_bytes=record_bytes or DEFAULT_RECORD_BYTES,
        only_matching=only_matching,
    )
    if query.cursor is not None:
        _check_cursor(query, query.cursor)
    return query


def of_message(of: str, message: data_pb2.ProfileQuery | data_pb2.CaptureQuery) -> StreamQuery:
    """The query of a protobuf message. Raises as `make_query` does."""
    asked = message.selection
    times = (asked.from_time, asked.to_time or DEFAULT_TO)
    selection = parse_selection(
        event=asked.event or DEFAULT_EVENT,
        unit=asked.unit,
        start=times[0] or DEFAULT_FROM,
        end=times[1],
        select=asked.select or "{}",
        campaign=asked.campaign or DEFAULT_CAMPAIGN,
        focus=asked.focus,
        ignore=asked.ignore,
        hide=asked.hide,
        show=asked.show,
        show_from=asked.show_from,
    )
    return make_query(
        of,
        selection,
        times,
        cursor=message.cursor,
        follow=message.follow,
        record_bytes=message.max_record_bytes,
        only_matching=isinstance(message, data_pb2.ProfileQuery) and message.only_matching,
    )


def _check_cursor(query: StreamQuery, cursor: Cursor) -> None:
    if cursor.of != query.of:
        raise BadCursor(f"The cursor belongs to a stream of {cursor.of:.20}, not of {query.of}.")
    if cursor.order is not query.order:
        if query.follow:
            raise BadCursor(
                "The cursor belongs to a stream that ends, but the query has `follow`.",
                hint="To continue after the end of a stream, use the `follow_cursor` of its last record.",
            )
        raise BadCursor("The cursor belongs to a stream that follows.", hint="Set `follow`.")
    if cursor.query != query.fingerprint:
        raise BadCursor(
            "The cursor belongs to another query.",
            hint="Use the same event, times, matchers, campaign, focus and ignore, or start without a cursor.",
        )


def _fingerprint(selection: Selection, times: tuple[str, str]) -> str:
    return fingerprint(
        *times,
        selection.event,
        selection.unit,
        selection.select,
        selection.campaign,
        *(getattr(selection, name) for name in PATTERNS),
    )
