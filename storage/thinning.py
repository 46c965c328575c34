"""How densely each hour of a campaign is drawn from: its pace, and its thinning when captures come faster than they are ingested.

Weights are per stratum and UTC day, and give every visit of a stratum-day the same time to stand for. So an
hour in which visits are drawn half as densely must be a stratum of its own, or its work counts half: measured
in `tests/integration/test_thinned_estimates.py`. A stratum therefore has a *thinning*, the number of times its visits
were halved, and an hour of a campaign has one thinning from its beginning to its end: its population is
then in one stratum, and no second of it counts twice. The same holds for the pace, the visits that the campaign
plans an hour (`tests/integration/test_changed_pace.py`): an hour that has begun is drawn from at its old one.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select

from storage.schema import campaign, coverage, stratum

MOST: Final = 5
"""Visits are halved so often at most: a thirty-second of the planned ones is still a sample, none is not."""
_LOOK_BACK_H: Final = 24


@dataclass(frozen=True, slots=True)
class Thinned:
    """What an hour may be drawn with."""

    decided: int | None
    """The hour's thinning, once a round has reached into it; None: it is still to be decided."""
    before: int
    """That of the last hour before it that was drawn from, of the last day; else 0."""


def share(halved: int) -> float:
    """The part of the planned visits that is drawn in hours of that thinning, above 0 and at most 1."""
    return 2.0**-halved


def of_hour(connection: Connection, campaign_id: int, hour: int) -> Thinned:
    """The thinning of an hour (since 1970 UTC) of a campaign, and of the one before."""
    by_hour = _newest(connection, campaign_id, hour)
    decided = by_hour.pop(hour, None)
    return Thinned(decided, next(iter(by_hour.values()), 0))


def paces(connection: Connection, campaign_id: int, hours: range) -> dict[int, float]:
    """The pace of each of the hours (since 1970 UTC) that a round has reached into, in visits an hour; 0: not known."""
    rows = connection.execute(
        select(coverage.c.hour, func.max(stratum.c.visits_per_hour).label("pace"))
        .where(*_of(campaign_id), coverage.c.hour >= hours.start, coverage.c.hour < hours.stop)
        .group_by(coverage.c.hour)
    )
    return {row.hour: float(row.pace) for row in rows}


def latest(connection: Connection, hour: int) -> dict[int, int]:
    """By campaign the thinning of the newest hour it has drawn from, of the last day up to this hour."""
    # One campaign after the other: coverage is kept for months, and no index of it begins with the hour.
    ids = connection.scalars(select(campaign.c.campaign_id)).all()
    newest = {id_: next(iter(_newest(connection, id_, hour).values()), None) for id_ in ids}
    return {id_: thinning for id_, thinning in newest.items() if thinning is not None}


def _newest(connection: Connection, campaign_id: int, hour: int) -> dict[int, int]:
    """The thinning of the two newest hours a campaign has drawn from, of the last day; the newest first."""
    rows = connection.execute(
        select(coverage.c.hour, func.max(stratum.c.thinning).label("thinning"))
        .where(*_of(campaign_id), coverage.c.hour > hour - _LOOK_BACK_H, coverage.c.hour <= hour)
        .group_by(coverage.c.hour)
        .order_by(coverage.c.hour.desc())
        .limit(2)
    )
    return {row.hour: int(row.thinning) for row in rows}


def _of(campaign_id: int) -> list[ColumnElement[Any]]:
    # The primary key is (campaign, stratum, hour, …): the join gives its index every stratum to descend into.
    return [coverage.c.campaign_id == campaign_id, coverage.c.stratum_id == stratum.c.stratum_id]
