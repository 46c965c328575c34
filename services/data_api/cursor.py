"""Cursors: a stream's position as a text that the caller sends to resume it.

    cursor = base64url(JSON) "." base64url(the first 8 bytes of its BLAKE2b)

The JSON is self-contained, so any process of the API can resume the stream, and a person can read it with `base64 -d`.
A cursor is neither a secret nor a credential: it only sets where to begin within the data that its bearer may read. The
checksum turns a damaged cursor into an error; without it, damage could change the position.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from services.data_api.errors import BadCursor
from storage.data.stream_position import Order, Place

VERSION = 1
LONGEST = 1000
"""Characters of a cursor."""
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 2, tzinfo=UTC)
"""Bounds of a cursor's times: the earliest of selections, and the end of streams that follow for ever."""
_HINT = "Send the `cursor` of the last record unchanged, with the same query."


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position after one record of one query."""

    of: str
    """The call: `profiles` or `captures`."""
    query: str
    """`fingerprint` of the query."""
    order: Order
    start: datetime
    end: datetime
    """The times that were resolved when the query began."""
    place: Place
    follow_from: datetime
    """The beginning of the stream read all that was ingested (for captures: archived) before this time."""
    stacks: bool = True
    """Whether the stream has samples with stacks, or leaf functions only."""

    def text(self) -> str:
        """The cursor as text for the caller."""
        known = {
            "v": VERSION,
            "of": self.of,
            "query": self.query,
            "order": self.order.value,
            "from": _written(self.start),
            "to": _written(self.end),
            "at": _written(self.place.moment),
            "visit": str(self.place.visit_id),
            "follow": _written(self.follow_from),
            "stacks": self.stacks,
        }
        body = json.dumps(known, separators=(",", ":")).encode()
        return f"{_encoded(body)}.{_encoded(_checksum(body))}"


def fingerprint(*parts: str) -> str:
    """A short digest of a query's texts."""
    return blake2b(json.dumps(parts).encode(), digest_size=9, person=b"fp-query").hexdigest()


def read_cursor(text: str) -> Cursor:
    """Parse a cursor. Raises `BadCursor`."""
    body, dot, checksum = text.partition(".")
    if len(text) > LONGEST or not dot:
        raise BadCursor("Invalid cursor.", hint=_HINT)
    try:
        known = _decoded(body)
        if _decoded(checksum) != _checksum(known):
            raise BadCursor("The cursor is damaged.", hint=_HINT)
        return _cursor(json.loads(known))
    except (
        binascii.Error,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadCursor("Invalid cursor.", hint=_HINT) from error


def _cursor(known: Any) -> Cursor:
    if known["v"] != VERSION or isinstance(known["v"], bool):
        raise BadCursor(
            f"Cursor version {known['v']!r:.20} is not supported. Supported: {VERSION}.",
            hint="Start again without a cursor.",
        )
    return Cursor(
        of=str(known["of"]),
        query=str(known["query"]),
        order=Order(known["order"]),
        start=_moment(known["from"]),
        end=_moment(known["to"]),
        place=Place(_moment(known["at"]), UUID(known["visit"])),
        follow_from=_moment(known["follow"]),
        stacks=bool(known["stacks"]),
    )


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    moment = moment.astimezone(UTC)
    if not _EARLIEST <= moment <= _LATEST:
        raise ValueError("a time outside the range of streams")
    return moment


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=8, person=b"fp-cursor").digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if _encoded(data) != text:  # the unused bits of the last byte are ignored by the decoder
        raise ValueError("not the canonical encoding")
    return data
