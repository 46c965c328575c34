"""The times of visits: rounds are counted by the collector's UTC clock, and visits are scattered within their round.

Round number k of a campaign with period p covers [k·p, (k+1)·p) seconds since 1970 UTC, so all collectors,
also restarted ones, give a round the same number. Each window starts at a moment that is uniform over the
round: times are sampled as well as machines, so what cron starts at full minutes gets its fair share.
Yet the starts of all visits are spread evenly, which avoids bursts at the collector and on the network.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import floor

import numpy as np


def round_at(moment: datetime, period_s: float) -> int:
    """Number of the round that contains `moment`."""
    return floor(moment.timestamp() / period_s)


def round_start(number: int, period_s: float) -> datetime:
    """First moment of the round for which `round_at` returns its number, also if the start is between microseconds."""
    moment = datetime.fromtimestamp(number * period_s, UTC)
    return moment if round_at(moment, period_s) >= number else moment + timedelta(microseconds=1)


def scatter(count: int, start: datetime, end: datetime, random: np.random.Generator) -> Sequence[datetime]:
    """Moments at which `count` visits start, in the order of the visits (not ascending).

    The span is cut into `count` equal slots. Each visit gets a random slot and a random moment in it: uniform
    over the span for each visit, never two in one slot. For an empty span every moment is `start`.
    """
    length = max((end - start).total_seconds(), 0.0)
    places = (random.permutation(count) + random.random(count)) / max(count, 1)
    return [start + timedelta(seconds=float(place) * length) for place in places]
