"""Timed runs as text: a query's `1200:18.3,2400:10.1`, or fields of a file."""

from collections.abc import Sequence

from storage.errors import BadSelection
from storage.query.models.frequency_times import Timed

_FIELDS = (2, 3)


def runs_of(text: str) -> tuple[Timed, ...]:
    """Runs as `mhz:seconds` or `mhz:seconds:memory mhz`, comma-separated. Raises `BadSelection` with the position."""
    found: list[Timed] = []
    at = 0
    for part in text.split(","):
        if part.strip():
            run = timed_of(part.split(":"))
            if run is None:
                raise BadSelection(
                    f"{part.strip()[:40]!r} is not a frequency and a time.",
                    at=at,
                    hint="runs=1200:18.3,2400:10.1",
                    parameter="runs",
                )
            found.append(run)
        at += len(part) + 1
    return tuple(found)


def timed_of(fields: Sequence[str]) -> Timed | None:
    """The run of two or three numbers; None: the fields are something else."""
    if len(fields) not in _FIELDS:
        return None
    try:
        return Timed(*(float(field) for field in fields))
    except ValueError:
        return None


def wrong_of(fields: Sequence[str]) -> int | None:
    """The first field, counted from 1, that is not a number; None: all are, or there are too few or too many fields."""
    if len(fields) not in _FIELDS:
        return None
    for place, field in enumerate(fields, 1):
        try:
            float(field)
        except ValueError:
            return place
    return None
