"""Computes a night's regressions: each application's newest version against the one before."""

from collections.abc import Callable
from datetime import date, timedelta

from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.releases import nights
from storage.query.releases.comparison import comparison_of, untested
from storage.query.releases.due_night import end_of
from storage.query.releases.night_questions import ApplicationsQuestion, NightComparison, NightQuestion
from storage.query.releases.nights import Found
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import judged_rows

MOST_APPLICATIONS = 100
"""Applications of a night, the heaviest of the week."""
_WEEK = timedelta(days=7)


def run_night(
    engine: Engine,
    queries: QueryEngine,
    day: date,
    *,
    again: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Found] | None:
    """Compute the regressions of a day and store them; None: another process does it, or it is done.

    `again` also computes a finished night. A night that `stopped` ends is left to the next claim. A failure is
    recorded, and raised.
    """
    with engine.begin() as connection:
        attempt = nights.claim(connection, day, again=again)
    if attempt is None:
        return None

    def goes_on() -> bool:
        with engine.begin() as connection:
            return not stopped() and nights.renew(connection, day, attempt)

    try:
        week = Selection(end_of(day) - _WEEK, end_of(day))
        made: list[tuple[str, float, NightComparison]] = []
        for one in queries.ask(ApplicationsQuestion(week, MOST_APPLICATIONS)):
            if not goes_on():
                return None
            made.append((one.name, one.share, queries.ask(NightQuestion(week, one.name))))
        tested = [one.unjudged for _, _, one in made if one.unjudged is not None]
        results = judged_rows(tested)
        left = iter(results)
        found = [
            Found(
                name,
                share,
                untested(one.sides)
                if one.unjudged is None
                else comparison_of(one.sides, next(left), one.cores),
            )
            for name, share, one in made
        ]
        with engine.begin() as connection:
            stored = nights.finish(
                connection,
                day,
                attempt,
                found,
                tested=sum(len(one.rows) for one in results),
                interval_level=next((one.level for one in results if one.level is not None), None),
            )
    except Exception as error:
        with engine.begin() as connection:
            nights.fail(connection, day, attempt, str(error))
        raise
    return found if stored else None
