"""Back-pressure: fewer visits while captures wait too long to be landed.

Landing later is harmless for a while: captures are safe in the archive, and only landed seconds enter weights. But
a fleet that is visited faster than workers land falls behind without end, and its answers get ever older. So
the visits of a campaign are halved, hour by hour, until workers keep up, and doubled back when they have caught up:

    an hour begins while captures wait longer than `LATE_S`, or `MANY` of them       halve once more, twice after an hour
    … while none waits longer than `CALM_S`                                          double once
    else                                                                             as in the hour before

An hour has one density from beginning to end, which its strata record (`storage.thinning`); so estimates stay
unbiased, and their intervals say what fewer visits cost.
"""

from typing import Final

import structlog
from sqlalchemy import Connection

from storage import thinning
from storage.backlog import Backlog, read_backlog
from storage.thinning import MOST, share

LATE_S: Final = 600.0
VERY_LATE_S: Final = 3600.0
CALM_S: Final = 120.0
MANY: Final = 20_000
"""Captures that wait are too many whatever their age: hours of work, and gigabytes."""

_log = structlog.get_logger("collector")


def decided(connection: Connection, campaign_id: int, name: str, hour: int) -> int:
    """How often the campaign's visits are halved in this hour (since 1970 UTC), 0…`MOST`.

    The first round that reaches into an hour decides for the whole of it; call this in that round's
    transaction, once the campaign's row is locked.
    """
    known = thinning.of_hour(connection, campaign_id, hour)
    if known.decided is not None:
        return known.decided
    backlog = read_backlog(connection)
    now = judged(known.before, backlog)
    _tell(name, known.before, now, backlog)
    return now


def judged(before: int, backlog: Backlog) -> int:
    """How often visits are halved after an hour in which they were `before` times, given what waits now."""
    if backlog.oldest_s > LATE_S or backlog.waiting > MANY:
        return min(before + (2 if backlog.oldest_s > VERY_LATE_S else 1), MOST)
    if backlog.oldest_s < CALM_S:
        return max(before - 1, 0)
    return before


def _tell(name: str, before: int, now: int, backlog: Backlog) -> None:
    waits = {"waiting": backlog.waiting, "oldest_s": round(backlog.oldest_s)}
    if now > before:
        _log.warning(
            "captures wait too long to be landed: fewer visits are drawn this hour",
            campaign=name, of_planned=share(now), **waits,
        )  # fmt: skip
    elif now < before:
        _log.warning(
            "workers keep up: more visits are drawn again", campaign=name, of_planned=share(now), **waits
        )
    elif now:
        _log.info("fewer visits are drawn this hour, too", campaign=name, of_planned=share(now), **waits)
