"""Query engine over the lake: same questions and answers as the PostgreSQL engine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from itertools import groupby
from typing import Generic, TypeVar

from storage.errors import BadSelection
from storage.query.reading import Question
from storage.query.selections.selection import Selection, selections_of
from storage.segments import manifest
from storage.segments.duck import DEFAULT, DuckStatements, Limits
from storage.segments.errors import LakeChanged
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from storage.segments.open_days import KnownDays, OpenEngine
from storage.segments.segment_reading import SegmentReading

_Answer = TypeVar("_Answer")
_TRIES = 3
"""Attempts of a query whose files are replaced while it runs."""
_RUNS_SHOWN = 6


@dataclass(frozen=True, slots=True)
class LakeAnswer(Generic[_Answer]):
    """An answer, the days it was read from, and the missing days."""

    answer: _Answer
    days: tuple[date, ...]
    """Days it was read from, ascending."""
    missing: tuple[date, ...]
    """Days of the selections that are missing within the lake's range; they are not covered."""
    first: date
    """First day of the lake."""
    last: date


class LakeEngine:
    """Answers selections from a lake; each answer uses the files that were current when it began.

    Caches stacks and functions between queries. Safe to share between threads.
    """

    def __init__(
        self, lake: Lake, limits: Limits = DEFAULT, open_engine: OpenEngine = DuckStatements
    ) -> None:
        """`limits` apply to the engine that `open_engine` opens.

        Processing its rows takes as much memory as with PostgreSQL.
        """
        self._lake = lake
        self._known = KnownDays(lake, limits, open_engine)

    def ask(self, question: Question[_Answer]) -> LakeAnswer[_Answer]:
        """Answer the question.

        If a day is exported again meanwhile, the query is repeated with the new files. Raises `BadSelection`, also if
        the lake has none of the selected days, `UnknownCampaign`, `LakeError`.
        """
        for tried in range(_TRIES):
            try:
                return self._ask(question)
            except LakeChanged:
                if tried == _TRIES - 1:
                    raise
        raise AssertionError("the last try raises")

    def close(self) -> None:
        """Close the idle engine; a later query opens a new one."""
        self._known.close()

    def _ask(self, question: Question[_Answer]) -> LakeAnswer[_Answer]:
        there = manifest.days(self._lake)
        if not there:
            raise BadSelection(
                "The lake has no days yet.", hint="`fleetprof lake export` exports closed days."
            )
        ranges = [_days_of(selection) for selection in selections_of(question)]
        wanted = [day for day in there if any(first <= day <= last for first, last in ranges)]
        known = [found for day in wanted if (found := manifest.read(self._lake, day)) is not None]
        if not known:
            raise BadSelection(
                f"The lake has no data of this time range. Days of the lake: {there[0]} to {there[-1]}.",
                hint="A day is exported 48 hours after its end; use PostgreSQL for later days.",
            )
        _check_database(known)
        files = self._known.of(known)
        with files.session() as session:
            answer = question.answer(SegmentReading(session, known, files.dictionary))
        days = tuple(found.day for found in known)
        return LakeAnswer(answer, days, tuple(_missing(ranges, there, days)), there[0], there[-1])


def _check_database(known: Sequence[Manifest]) -> None:
    """Raise `BadSelection` for days of several databases, whose ids mean different things."""
    runs = [list(days) for _, days in groupby(known, key=lambda found: found.database)]
    if len({found.database for found in known}) > 1:
        spelled = [f"{run[0].day} to {run[-1].day}" if len(run) > 1 else str(run[0].day) for run in runs]
        shown = ", ".join(spelled[:_RUNS_SHOWN]) + (" …" if len(spelled) > _RUNS_SHOWN else "")
        raise BadSelection(
            "Days of the lake are from several databases, or from before and after a restore, so ids "
            f"of functions, stacks and machines differ: {shown}.",
            hint="Select the days of one database. SQL over the lake's `samples` uses names and can read "
            "all days.",
        )


def _days_of(selection: Selection) -> tuple[date, date]:
    """First and last UTC day of a selection."""
    last = selection.end.astimezone(UTC) - timedelta(microseconds=1)
    return selection.start.astimezone(UTC).date(), last.date()


def _missing(ranges: list[tuple[date, date]], there: list[date], read: tuple[date, ...]) -> Iterator[date]:
    day = there[0]
    while day <= there[-1]:
        if day not in read and any(first <= day <= last for first, last in ranges):
            yield day
        day += timedelta(days=1)
