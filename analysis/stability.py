"""The badge of a profile: how far it can be trusted, in one word with reasons (DIGEST G25–G27).

Half of the Manhattan distance to the fleet's profile is the part of a profile's samples that are at the wrong entries.
The convergence curve predicts it; its value at the upper end of C's interval makes a profile steady, fair or rough. In
addition, the entropy per day shows whether the profile always has the same behaviour: two behaviours of one application
differ by half a nat or more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special

from analysis import confidence
from analysis.convergence import FARTHEST
from analysis.input_checks import numbers, positive, same_length
from analysis.measured import Measured
from analysis.reliability import Convergence

STEADY = 0.05
"""Maximum part of the samples at wrong entries for a steady profile …"""
FAIR = 0.15
"""… and for a fair one, whose hottest entries are reliable."""
_JUMP = 0.25
"""Minimum relevant difference in nats of a day's entropy from the others': 28 % more or fewer entries."""
_SURE = 0.01
"""p-value below which the entropies of days differ."""
LEAST_DAY = 8
"""Minimum visits of a day for a usable entropy, which is too small for few samples: 3.5 nats of one visit, 4.4 of
fifty."""
_LEAST_SAMPLES = 0.25
"""Minimum samples of a day relative to the median day's, for the same reason."""


class Badge(StrEnum):
    """How far a profile can be trusted."""

    STEADY = "steady"
    """Small entries, too."""
    FAIR = "fair"
    """Only the hottest entries."""
    ROUGH = "rough"
    """Only the very top."""
    SHIFTING = "shifting"
    """Days differ in kind, so analyse them separately."""
    FEW = "few"
    """Too few visits for any statement."""


@dataclass(frozen=True, slots=True)
class Stability:
    """A badge and its reasons."""

    badge: Badge
    misplaced: Measured | None
    """Part of the samples at wrong entries, 0…1; None for too few visits."""
    samples: float
    more_visits: float | None
    """Additional visits with the selection that would make it steady; 0 if it is; None if unknown."""
    shifted: tuple[int, ...]
    """Indexes of days whose entropy differs from that of the others."""


def judge(
    convergence: Convergence | None,
    samples: float,
    entropies: Sequence[Measured] = (),
    *,
    day_visits: Sequence[int] = (),
    day_samples: Sequence[float] = (),
) -> Stability:
    """The badge of a profile of `samples` > 0 by its fit (None: too few visits) and its entropy per day.

    Days as in `shifted_days`. Raises NotANumber, BadShape.
    """
    shifted = shifted_days(entropies, visits=day_visits, samples=day_samples)
    if convergence is None:
        return Stability(Badge.FEW, None, samples, None, ())
    far = convergence.distance_with(positive("samples", samples))
    misplaced = Measured(*(min(end / FARTHEST, 1.0) for end in (far.value, far.lo, far.hi)))
    if shifted:
        badge = Badge.SHIFTING
    elif misplaced.hi <= STEADY:
        badge = Badge.STEADY
    else:
        badge = Badge.FAIR if misplaced.hi <= FAIR else Badge.ROUGH
    # Use the curve scaled by the same factor by which the interval's end exceeds the value now.
    farther = far.hi / far.value if far.value > 0 else 1.0
    needed = convergence.samples_needed(FARTHEST * STEADY / farther)
    more = max(0.0, needed - samples) / convergence.samples_per_visit
    return Stability(badge, misplaced, samples, more, shifted)


def shifted_days(
    entropies: Sequence[Measured], *, visits: Sequence[int] = (), samples: Sequence[float] = ()
) -> tuple[int, ...]:
    """Indexes of days whose entropy differs from the others' by more than their intervals and a quarter of a nat.

    Days that cannot be compared are left out: those with an interval of zero width, which is that of a single visit;
    those with fewer than 8 `visits`; those with fewer `samples` than a quarter of the median day's. () if fewer than 3
    are left. Raises NotANumber for an entropy without a finite interval, BadShape if visits or samples are not given
    for every day.
    """
    value, lo, hi = (
        numbers("entropy", [getattr(day, end) for day in entropies]) for end in ("value", "lo", "hi")
    )
    known = hi > lo
    for what, counts, least in (("visits", visits, float(LEAST_DAY)), ("samples", samples, None)):
        if len(counts):
            day = numbers(f"{what} of days", counts, 0)
            same_length(f"Entropies and {what}", value, day)
            known &= day >= (_LEAST_SAMPLES * float(np.median(day)) if least is None else least)
    places = np.flatnonzero(known)
    if len(places) < 3:
        return ()
    value, error = value[places], ((hi - lo) / 2 / confidence.normal())[places]
    middle = np.array([np.median(np.delete(value, day)) for day in range(len(value))])
    apart = np.abs(value - middle)
    p = 2 * special.ndtr(-apart / np.hypot(error, np.median(error)))
    return tuple(places[(p * len(value) < _SURE) & (apart > _JUMP)].tolist())
