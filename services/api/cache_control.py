"""The `Cache-Control` of answers: answers of closed ranges may be reused by the browser that requested them.

No more visits are ingested into a range that ended more than a day ago; only reprocessing with better symbols changes its
answers. So its reader may keep an answer for an hour. `Vary` names the headers of the sign-in: an answer of one session is
not reused in another.
"""

from datetime import datetime, timedelta
from typing import Final

from fastapi import Request

from services.api.sessions import SESSION_HEADER
from storage.errors import BadSelection
from storage.query.selections.times import parse_time

OPEN: Final = "no-store"
CLOSED: Final = "private, max-age=3600"
VARY: Final = f"Accept, Accept-Encoding, Authorization, {SESSION_HEADER}"
_CLOSED_AFTER: Final = timedelta(days=1)
_ENDS: Final = ("to", "base_to")
_STARTS: Final = ("from", "base_from")
_OTHER_DATA: Final = "experiments"
"""A parameter that names data which can be replaced at any time."""


def cache_control(request: Request, now: datetime) -> str:
    """`CLOSED` if every time of the request is fixed, and its ranges ended more than a day ago; else `OPEN`.

    A relative time such as `now-2d` is another range with each request.
    """
    given = request.query_params
    if "to" not in given or _OTHER_DATA in given:
        return OPEN
    ends = [_fixed(given[name], now) for name in _ENDS if given.get(name)]
    starts = [_fixed(given[name], now) for name in _STARTS if given.get(name)]
    closed = all(end is not None and end < now - _CLOSED_AFTER for end in ends) and None not in starts
    return CLOSED if ends and closed else OPEN


def _fixed(text: str, now: datetime) -> datetime | None:
    """The time of the text; None if it is relative to the present or invalid."""
    try:
        found = parse_time(text, now=now)
        return found if found == parse_time(text, now=now - _CLOSED_AFTER) else None
    except BadSelection:
        return None
