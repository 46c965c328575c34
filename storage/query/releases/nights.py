"""The rows of nights: who computes a night's regressions, and their results.

A process claims a night with a lease by the database's clock. It stores all results in one transaction, and only while
the claim is its own: a night is computed exactly once however many processes try, and again after a crash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.query.answers.answer import adapter, as_document
from storage.query.answers.releases import ReleaseComparison
from storage.schema import regression, regression_night

KEPT_NIGHTS = 400
LEASE = timedelta(minutes=5)
"""A night whose process has not renewed its claim for this long is tried again."""
_FIRST_REST_S = 600.0
_LONGEST_REST_S = 6 * 3600.0
_LONGEST_REASON = 1000


@dataclass(frozen=True, slots=True)
class Found:
    """One application of a night."""

    application: str
    share: float
    """Estimated share of the fleet, 0…1."""
    comparison: ReleaseComparison


@dataclass(frozen=True, slots=True)
class Night:
    """The state of a night."""

    day: date
    attempt: int
    finished_at: datetime | None
    failure: str
    tested: int
    interval_level: float | None


def claim(connection: Connection, day: date, *, again: bool = False) -> int | None:
    """The number of this attempt; None: the night is finished (unless `again`), or another process computes it."""
    c, now = regression_night.c, func.clock_timestamp()
    row = insert(regression_night).values(day=day, attempt=1, leased_until=now + LEASE)
    free = c.leased_until < now
    attempt = connection.scalar(
        row.on_conflict_do_update(
            index_elements=[c.day],
            set_={"attempt": c.attempt + 1, "leased_until": now + LEASE},
            where=or_(free, c.finished_at.is_not(None)) if again else free & c.finished_at.is_(None),
        ).returning(c.attempt)
    )
    return None if attempt is None else int(attempt)


def renew(connection: Connection, day: date, attempt: int) -> bool:
    """Extend the claim; False: another process has claimed the night since."""
    return (
        connection.execute(
            update(regression_night)
            .where(regression_night.c.day == day, regression_night.c.attempt == attempt)
            .values(leased_until=func.clock_timestamp() + LEASE)
        ).rowcount
        == 1
    )


def finish(
    connection: Connection,
    day: date,
    attempt: int,
    found: Sequence[Found],
    *,
    tested: int,
    interval_level: float | None,
) -> bool:
    """Store a night's results and delete old nights; False, and nothing is stored: the claim was lost."""
    c = regression_night.c
    now = func.clock_timestamp()
    mine = connection.execute(
        update(regression_night)
        .where(c.day == day, c.attempt == attempt)
        .values(finished_at=now, leased_until=now, failure="", tested=tested, interval_level=interval_level)
    ).rowcount
    if mine != 1:
        return False
    connection.execute(delete(regression).where(regression.c.day == day))
    if found:
        connection.execute(
            insert(regression),
            [
                {
                    "day": day,
                    "application": one.application,
                    "kind": one.comparison.kind,
                    "verdict": one.comparison.verdict,
                    "share": one.share,
                    "comparison": as_document(one.comparison),
                }
                for one in found
            ],
        )
    connection.execute(delete(regression_night).where(c.day < day - timedelta(days=KEPT_NIGHTS)))
    return True


def fail(connection: Connection, day: date, attempt: int, why: str) -> None:
    """Record why an attempt failed. The night rests 10 minutes, then twice as long each time, at most 6 hours."""
    c = regression_night.c
    rest_s = min(_FIRST_REST_S * 2.0 ** min(attempt - 1, 20), _LONGEST_REST_S)
    connection.execute(
        update(regression_night)
        .where(c.day == day, c.attempt == attempt, c.finished_at.is_(None))
        .values(
            failure=why[:_LONGEST_REASON],
            leased_until=func.clock_timestamp() + timedelta(seconds=rest_s),
        )
    )


def night(connection: Connection, day: date) -> Night | None:
    """The state of a night; None: no process has tried it."""
    c = regression_night.c
    row = connection.execute(
        select(c.day, c.attempt, c.finished_at, c.failure, c.tested, c.interval_level).where(c.day == day)
    ).one_or_none()
    return None if row is None else Night(*row)


def finished_days(connection: Connection) -> list[date]:
    """The days with results, the newest first."""
    c = regression_night.c
    return list(
        connection.scalars(
            select(c.day).where(c.finished_at.is_not(None)).order_by(c.day.desc()).limit(KEPT_NIGHTS)
        )
    )


def results(connection: Connection, day: date) -> list[Found]:
    """A night's results, by application."""
    c = regression.c
    rows = connection.execute(
        select(c.application, c.share, c.comparison).where(c.day == day).order_by(c.application)
    )
    of = adapter(ReleaseComparison)
    return [Found(row.application, row.share, of.validate_python(row.comparison)) for row in rows]
