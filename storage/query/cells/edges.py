"""The partial hours at the ends of a selection: read whole from cells if little has to be subtracted again.

A page's range ends now. The cell of the present hour has all of this hour's visits that are merged, and reading them one
by one instead took seconds late in an hour of a large fleet. The visits of the hour that are outside of the selection
are delta visits with the sign −1.
"""

from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from sqlalchemy import Connection, Select, bindparam, func, select

from storage.query.access_path import CellPlan
from storage.query.estimation.covered_time import HOUR_S
from storage.query.selections.selection import Selection
from storage.schema import BY_HAND, visit

_FEWER = 4
"""An hour is read from cells if this many times as many of its visits are inside the selection as outside: the number of
machines behind a row, an estimate from bits, includes those that are outside."""


def with_cheap_edges(
    connection: Connection, selection: Selection, campaign_id: int, plan: CellPlan, facts_kept: datetime
) -> CellPlan:
    """The plan with cells of the partial hours that have few visits outside of the selection; `facts_kept`: from when."""
    if plan.longest is not None:
        return plan  # a step of a series would have the subtracted visits' hour
    start, end = selection.start, selection.end
    if start < _hour(plan.first) and _hour(plan.first - 1) >= facts_kept:
        times = _hour(plan.first - 1), start, _hour(plan.first)
        outside, inside = _counts(connection, campaign_id, times)
        if outside * _FEWER <= inside:
            plan = replace(plan, first=plan.first - 1)
    if end > _hour(plan.end) >= facts_kept:
        inside, outside = _counts(connection, campaign_id, (_hour(plan.end), end, _hour(plan.end + 1)))
        if outside * _FEWER <= inside:
            plan = replace(plan, end=plan.end + 1)
    return plan


def outside_of(selection: Selection, plan: CellPlan) -> list[tuple[datetime, datetime]]:
    """The times in the plan's hours that are not in the selection."""
    edges = ((_hour(plan.first), selection.start), (selection.end, _hour(plan.end)))
    return [(low, high) for low, high in edges if low < high]


def _hour(number: int) -> datetime:
    """When an hour since 1970 UTC begins."""
    return datetime.fromtimestamp(number * HOUR_S, UTC)


@lru_cache(maxsize=1)
def _in_halves() -> Select[int, int]:
    drawn = visit.c.drawn_at
    before = func.count().filter(drawn < bindparam("middle"))
    after = func.count().filter(drawn >= bindparam("middle"))
    return select(before, after).where(
        visit.c.campaign_id == bindparam("campaign"),
        drawn >= bindparam("low"),
        drawn < bindparam("high"),
        visit.c.round != BY_HAND,
    )


def _counts(
    connection: Connection, campaign_id: int, times: tuple[datetime, datetime, datetime]
) -> tuple[int, int]:
    """Visits drawn between the first two times, and between the last two."""
    low, middle, high = times
    row = connection.execute(
        _in_halves(), {"campaign": campaign_id, "low": low, "middle": middle, "high": high}
    ).one()
    return int(row[0]), int(row[1])
