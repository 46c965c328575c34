"""Runs that somebody timed, as texts: a query's `1200:18.3,2400:10.1`, or fields of a file."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.errors import BadSelection

_FIELDS = (2, 3)


@dataclass(frozen=True, slots=True)
class Timed:
    """One run as given; any of its numbers may be none that can be used, which the model refuses."""

    mhz: float
    seconds: float
    memory_mhz: float | None = None


def runs_of(text: str) -> tuple[Timed, ...]:
    """Runs as `mhz:seconds` or `mhz:seconds:memory mhz`, commas between. Raises `BadSelection` with the character."""
    found: list[Timed] = []
    at = 0
    for part in text.split(","):
        if part.strip():
            run = timed_of(part.split(":"))
            if run is None:
                raise BadSelection(
                    f"{part.strip()[:40]!r} is no frequency and time.",
                    at=at,
                    hint="runs=1200:18.3,2400:10.1",
                    parameter="runs",
                )
            found.append(run)
        at += len(part) + 1
    return tuple(found)


def timed_of(fields: Sequence[str]) -> Timed | None:
    """The run of two or three numbers; None where they are none."""
    if len(fields) not in _FIELDS:
        return None
    try:
        return Timed(*(float(field) for field in fields))
    except ValueError:
        return None


def wrong_of(fields: Sequence[str]) -> int | None:
    """Which of the fields, from 1, is no number; None: they are too few or too many."""
    if len(fields) not in _FIELDS:
        return None
    for place, field in enumerate(fields, 1):
        try:
            float(field)
        except ValueError:
            return place
    return None
