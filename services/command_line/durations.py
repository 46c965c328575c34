"""Durations as users write them: `10s`, `2m`, `1h30m`, `500ms`, `7d`."""

import re

import typer

from storage.errors import BadSelection

_UNITS = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+", re.ASCII)
_LONGEST_TEXT = 40


def parse_duration(text: str) -> float:
    """Seconds. Raises ValueError with a sentence, also for a number without a unit."""
    compact = text.strip().lower()
    if len(compact) > _LONGEST_TEXT or not _WHOLE.fullmatch(compact):
        raise ValueError(f"Invalid duration {text[:_LONGEST_TEXT]!r}: expected e.g. 10s, 2m, 1h30m or 500ms.")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(compact))


def format_duration(seconds: float) -> str:
    """The shortest text that parses back to the same duration, to the millisecond."""
    left = round(seconds * 1000)
    if left == 0:
        return "0s"
    parts = []
    for unit, length in _UNITS.items():
        count, left = divmod(left, round(length * 1000))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def Duration(text: str) -> float:  # noqa: N802 - typer prints a parser's name as the kind of value it takes
    """Seconds, for an option's `parser=`; an invalid text ends the command with exit code 2."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def step_of(text: str) -> int:
    """Seconds of a step; 0 for an empty text. Raises `BadSelection`."""
    try:
        return round(parse_duration(text)) if text else 0
    except ValueError as error:
        raise BadSelection(str(error), hint="Set step=1h or step=1d.", parameter="step") from error
