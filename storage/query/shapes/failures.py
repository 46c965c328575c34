"""The causes of failed visits in the last day: outcomes by message, most frequent first."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from storage.query.answers.status import VisitFailure
from storage.query.selections.times import format_time
from storage.schema import Outcome, campaign, machine, visit

OVER = timedelta(days=1)
LATELY = timedelta(hours=1)
MOST = 20
"""Messages reported; `visits_last_hour` counts all the other visits too."""
_NO_FAILURE = (Outcome.DRAWN, Outcome.ANSWERED)


def read_failures(connection: Connection, now: datetime) -> tuple[VisitFailure, ...]:
    """The `MOST` most frequent failures, most visits first."""
    # By campaign, to use an index: there is none by time alone.
    campaigns = connection.execute(select(campaign.c.campaign_id)).scalars().all()
    # `DEADLINE_EXCEEDED after 31 s`, `… after 32 s`, and addresses with other numbers count as one cause.
    text = func.regexp_replace(visit.c.detail, "[0-9]+", "0", "g")
    newest_first = visit.c.drawn_at.desc()
    count = func.count()
    rows = connection.execute(
        select(
            visit.c.outcome,
            func.array_agg(aggregate_order_by(visit.c.detail, newest_first))[1],
            count,
            count.filter(visit.c.drawn_at >= now - LATELY),
            func.count(visit.c.machine_id.distinct()),
            func.array_agg(aggregate_order_by(machine.c.name, newest_first))[1],
            func.max(visit.c.drawn_at),
        )
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(
            visit.c.campaign_id.in_(campaigns),
            visit.c.drawn_at >= now - OVER,
            visit.c.outcome.not_in(_NO_FAILURE),
        )
        .group_by(visit.c.outcome, text)
        .order_by(count.desc(), visit.c.outcome, func.max(visit.c.drawn_at).desc())
        .limit(MOST)
    )
    return tuple(
        VisitFailure(
            outcome=outcome,
            detail=detail,
            visits=visits,
            visits_last_hour=lately,
            machines=machines,
            example=example,
            latest=format_time(latest),
        )
        for outcome, detail, visits, lately, machines, example, latest in rows
    )
