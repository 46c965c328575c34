"""When: rounds are counted by the collector's UTC clock, and visits lie scattered within their round.

Round number k of a campaign with period p covers [k·p, (k+1)·p) seconds since 1970 UTC, so every
collector, restarted or second, means the same round by the same number. A machine's window starts
at a moment uniform over the round (times are sampled as well as machines: what cron starts at full
minutes must have its fair chance), yet the starts of all visits are spread evenly, so that neither
the collector nor the fleet's network sees a crowd.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import floor

import numpy as np


def round_at(moment: datetime, period_s: float) -> int:
    """Number of the round that `moment` lies in."""
    return floor(moment.timestamp() / period_s)


def round_start(number: int, period_s: float) -> datetime:
    """First moment of the round: `round_at` says its number, also where its beginning lies between two microseconds."""
    moment = datetime.fromtimestamp(number * period_s, UTC)
    return moment if round_at(moment, period_s) >= number else moment + timedelta(microseconds=1)


def scatter(count: int, start: datetime, end: datetime, random: np.random.Generator) -> Sequence[datetime]:
    """Moments at which `count` visits start, in the order of the visits (not ascending).

    The span is cut into `count` equal slots; each visit gets a slot at random and a moment at random
    in it: uniform over the span for each visit, never two in one slot. An empty span gives `start`.
    """
    length = max((end - start).total_seconds(), 0.0)
    places = (random.permutation(count) + random.random(count)) / max(count, 1)
    return [start + timedelta(seconds=float(place) * length) for place in places]
