"""Parses and formats points in time: RFC 3339, or relative to now."""

import re
from datetime import UTC, datetime, timedelta

from storage.errors import BadSelection
from storage.query.selections.texts import require_text

LONGEST = 64
"""Characters of a time."""
_RELATIVE = re.compile(r"now(?:\s*([+-])\s*((?:\d{1,6}[smhdw])+))?", re.ASCII)
_LENGTH = re.compile(r"(?:\d{1,9}[smhdw])+", re.ASCII)
_PART = re.compile(r"(\d+)([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST_S = 3653 * 86_400
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


def parse_time(text: str, *, now: datetime, parameter: str = "") -> datetime:
    """The UTC time of `2026-11-21T04:00:00Z`, `now`, `now-15m` or `now-1h30m`.

    Raises `BadSelection` for the parameter, also for a time without a zone, which would be ambiguous.
    """
    require_text(text, longest=LONGEST, what="The time", parameter=parameter)
    try:
        return _parsed(text.strip(), now)
    except BadSelection as error:
        error.parameter = parameter
        error.at = (error.at or 0) + len(text) - len(text.lstrip())
        raise


def _parsed(text: str, now: datetime) -> datetime:
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        sign, parts = relative.groups()
        seconds = sum(int(n) * _SECONDS[unit] for n, unit in _PART.findall(parts or ""))
        try:
            return _within(
                now - timedelta(seconds=seconds) if sign == "-" else now + timedelta(seconds=seconds), text
            )
        except OverflowError as error:
            raise _bad(text) from error
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise _bad(text) from error
    if time.tzinfo is None:
        raise BadSelection(
            f"The time {text!r} has no time zone.",
            at=len(text),
            hint=f"Write {text}Z for UTC, or an offset such as +02:00.",
        )
    try:
        return _within(time.astimezone(UTC), text)
    except OverflowError as error:
        raise _bad(text) from error


def parse_length(text: str, *, parameter: str = "") -> int:
    """The seconds, 1 to 10 years, of `90s`, `5m` or `1d12h`. Raises `BadSelection` for the parameter."""
    require_text(text, longest=LONGEST, what="The duration", parameter=parameter)
    seconds = (
        sum(int(n) * _SECONDS[unit] for n, unit in _PART.findall(text))
        if _LENGTH.fullmatch(text.strip())
        else 0
    )
    if not 0 < seconds <= _LONGEST_S:
        raise BadSelection(
            f"Invalid duration {text!r}.",
            hint="Write a number and a unit (s, m, h, d or w), e.g. 5m; the limit is ten years.",
            parameter=parameter,
        )
    return seconds


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC with as many digits of a second as it has, e.g. `2026-11-21T04:00:00Z`."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _within(time: datetime, text: str) -> datetime:
    if not _EARLIEST <= time < _LATEST:
        raise _bad(text)
    return time


def _bad(text: str) -> BadSelection:
    return BadSelection(
        f"Invalid time {text!r}.",
        at=0,
        hint="Write RFC 3339, e.g. 2026-11-21T04:00:00Z, or a relative time, e.g. now-15m.",
    )
