"""Back-pressure: fewer visits are drawn while captures wait too long to be ingested.

A delay is harmless for a while: captures are safe in the archive, and only ingested seconds enter the weights. But
if a fleet is visited faster than its workers ingest, the backlog grows without end and answers get ever older. So
the visits of a campaign are halved, hour by hour, until workers keep up, and doubled again once they have caught up:

    backlog when an hour begins                                    visits of the hour
    more than `MAX_BACKLOG` captures, or at least `MIN_BACKLOG`    halved once more; twice if the oldest capture
      and the oldest has waited longer than `LATE_S`                 has waited longer than `VERY_LATE_S`
    fewer than `MIN_BACKLOG`, or the oldest has waited less        doubled once
      than `CAUGHT_UP_S`
    else                                                           as in the hour before

An hour has one density from beginning to end, which its strata record (`storage.thinning`). Estimates therefore stay
unbiased, and their intervals include the cost of fewer visits. A stratum's thinned hours of a day are weighted
separately, so they must stay dense enough for that (`max_halvings`).
"""

from collections.abc import Iterable
from typing import Final

import structlog
from sqlalchemy import Connection

from storage import thinning
from storage.backlog import Backlog, read_backlog
from storage.thinning import MOST, share

LATE_S: Final = 600.0
VERY_LATE_S: Final = 3600.0
CAUGHT_UP_S: Final = 120.0
MAX_BACKLOG: Final = 20_000
"""A larger backlog is too much whatever its age: hours of work, and gigabytes."""
MIN_BACKLOG: Final = 50
"""A smaller backlog is no load, however old: a stop of hours may leave one capture, which is ingested in a moment."""
MIN_VISITS_PER_HOUR: Final = 200
MIN_VISITS_PER_STRATUM: Final = 20
"""Least visits an hour that halving leaves of a campaign, and for each of its strata.

A stratum with at most one visit in an hour lends it to a neighbouring stratum, which may be of another size
altogether: hours thinned to a few visits made strata come out five times too large. This few overload nothing.
"""

_log = structlog.get_logger("collector")


def halvings_by_hour(
    connection: Connection, campaign_id: int, name: str, hours: Iterable[int], most: int
) -> dict[int, int]:
    """How often the campaign's visits are halved in each of these hours (since 1970 UTC, ascending), 0…`most`.

    The first round that reaches into an hour decides for the whole hour, from the backlog at that time. `most` is the
    campaign's `max_halvings`. Call this in that round's transaction, once the campaign's row is locked.
    """
    found: dict[int, int] = {}
    new: int | None = None
    for hour in hours:
        known = thinning.of_hour(connection, campaign_id, hour)
        if known.decided is not None:
            found[hour] = known.decided
            continue
        if new is None:  # one decision from one reading of the backlog, however many hours a round lasts
            backlog = read_backlog(connection)
            new = min(next_halvings(known.before, backlog), most)
            _log_change(name, known.before, new, backlog)
        found[hour] = new
    return found


def max_halvings(planned: float, strata: int) -> int:
    """How often a campaign of `planned` visits an hour and so many strata may be halved, 0…`MOST`."""
    least = max(MIN_VISITS_PER_HOUR, MIN_VISITS_PER_STRATUM * strata)
    return sum(planned * share(halved) >= least for halved in range(1, MOST + 1))


def next_halvings(before: int, backlog: Backlog) -> int:
    """Halvings of the next hour, after an hour with `before` halvings and with this backlog now."""
    some = backlog.waiting >= MIN_BACKLOG
    if (some and backlog.oldest_s > LATE_S) or backlog.waiting > MAX_BACKLOG:
        return min(before + (2 if backlog.oldest_s > VERY_LATE_S else 1), MOST)
    if not some or backlog.oldest_s < CAUGHT_UP_S:
        return max(before - 1, 0)
    return before


def _log_change(name: str, before: int, now: int, backlog: Backlog) -> None:
    waits = {"waiting": backlog.waiting, "oldest_s": round(backlog.oldest_s)}
    if now > before:
        _log.warning(
            "the ingestion backlog is too old: fewer visits are drawn this hour",
            campaign=name, of_planned=share(now), **waits,
        )  # fmt: skip
    elif now < before:
        _log.warning(
            "workers keep up: more visits are drawn again", campaign=name, of_planned=share(now), **waits
        )
    elif now:
        _log.info("fewer visits are drawn in this hour, too", campaign=name, of_planned=share(now), **waits)
