"""Sampling density of each hour of a campaign: its pace, and its thinning when ingestion cannot keep up.

Weights are per stratum and UTC day, and give every visit of a stratum-day the same time to represent. So an hour with
half the density of visits must be a separate stratum, or its work counts half: measured in
`tests/integration/test_thinned_estimates.py`. A stratum therefore has a *thinning*, the number of times its visits
were halved, and an hour of a campaign has a constant thinning: its population is then in one stratum, and
no second of it counts twice. The same holds for the pace, the visits that the campaign plans per hour
(`tests/integration/test_changed_pace.py`): an hour that has begun keeps its pace.
"""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select

from storage.schema import campaign, coverage, stratum

MOST: Final = 5
"""Maximum number of halvings: a thirty-second of the planned visits is still a sample, zero visits are not."""
_LOOK_BACK_H: Final = 24


@dataclass(frozen=True, slots=True)
class Thinned:
    """The thinning of an hour and of its predecessor."""

    decided: int | None
    """The hour's thinning, once a round overlaps it; None: undecided."""
    before: int
    """Thinning of the last sampled hour before it within a day; otherwise 0."""


def share(halved: int) -> float:
    """The part of the planned visits that is drawn with this thinning, above 0 and at most 1."""
    return 2.0**-halved


def of_hour(connection: Connection, campaign_id: int, hour: int) -> Thinned:
    """The thinning of an hour (since 1970 UTC) of a campaign, and of the previous one."""
    by_hour = _newest(connection, campaign_id, hour)
    decided = by_hour.pop(hour, None)
    return Thinned(decided, next(iter(by_hour.values()), 0))


def paces(connection: Connection, campaign_id: int, hours: range) -> dict[int, float]:
    """The pace of each hour (since 1970 UTC) that a round overlaps, in visits per hour; 0: unknown."""
    rows = connection.execute(
        select(coverage.c.hour, func.max(stratum.c.visits_per_hour).label("pace"))
        .where(*_of(campaign_id), coverage.c.hour >= hours.start, coverage.c.hour < hours.stop)
        .group_by(coverage.c.hour)
    )
    return {row.hour: float(row.pace) for row in rows}


def latest(connection: Connection, hour: int) -> dict[int, int]:
    """By campaign, the thinning of its newest sampled hour within the day up to this hour."""
    # Per campaign: coverage is kept for months, and no index of it begins with the hour.
    ids = connection.scalars(select(campaign.c.campaign_id)).all()
    newest = {id_: next(iter(_newest(connection, id_, hour).values()), None) for id_ in ids}
    return {id_: thinning for id_, thinning in newest.items() if thinning is not None}


def _newest(connection: Connection, campaign_id: int, hour: int) -> dict[int, int]:
    """The thinning of a campaign's two newest sampled hours within the last day, the newest first."""
    rows = connection.execute(
        select(coverage.c.hour, func.max(stratum.c.thinning).label("thinning"))
        .where(*_of(campaign_id), coverage.c.hour > hour - _LOOK_BACK_H, coverage.c.hour <= hour)
        .group_by(coverage.c.hour)
        .order_by(coverage.c.hour.desc())
        .limit(2)
    )
    return {row.hour: int(row.thinning) for row in rows}


def _of(campaign_id: int) -> list[ColumnElement[Any]]:
    # The primary key is (campaign, stratum, hour, …): the join lets the index be searched per stratum.
    return [coverage.c.campaign_id == campaign_id, coverage.c.stratum_id == stratum.c.stratum_id]
