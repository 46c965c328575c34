"""The kept regressions of a night."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import Connection

from storage.query.answers.inputs import Unavailable
from storage.query.answers.regressions import Regression, RegressionsAnswer
from storage.query.releases import nights
from storage.query.releases.due_night import has_data, last_night, planned_at
from storage.query.releases.nights import Found
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class RegressionsQuestion:
    """The results of a day's night; None: of the newest one that is finished."""

    day: date | None = None

    def answer(self, reading: StoreReading) -> RegressionsAnswer:
        """The results; nothing is computed. Raises `DatabaseError`."""
        connection = reading.connection
        days = nights.finished_days(connection)
        day = self.day or (days[0] if days else None)
        found = None if day is None else nights.night(connection, day)
        finished_at = None if found is None else found.finished_at
        rows = nights.results(connection, day) if day is not None and finished_at is not None else []
        next_run = _next_run(connection, datetime.now(UTC))
        because = None
        if finished_at is None:
            which = (
                "No night has been computed yet." if day is None else f"The night of {day} has no results."
            )
            because = Unavailable(
                "too_little",
                f"{which} The next one is due at {format_time(next_run)}; to compute one now: fleetprof regressions run",
            )
        return RegressionsAnswer(
            day=None if day is None else day.isoformat(),
            computed_at=None if finished_at is None else format_time(finished_at.astimezone(UTC)),
            next_run=format_time(next_run),
            failure=found.failure or None if found is not None else None,
            days=tuple(one.isoformat() for one in days),
            applications=tuple(
                Regression(one.application, one.share, one.comparison) for one in sorted(rows, key=_order)
            ),
            tested=0 if found is None else found.tested,
            interval_level=None if found is None else found.interval_level,
            because=because,
        )


def _next_run(connection: Connection, now: datetime) -> datetime:
    day = last_night(now)
    found = nights.night(connection, day)
    is_open = (found is None or found.finished_at is None) and has_data(connection, day)
    return planned_at(day if is_open else day + timedelta(days=1))


def _order(one: Found) -> tuple[bool, float, float, str]:
    changed = one.comparison.verdict == "changed"
    worst = one.comparison.worst
    effect = worst.delta * one.share if worst is not None else 0.0
    return (not changed, -effect, -one.share, one.application)
