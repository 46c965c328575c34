"""The badge of a profile: whether one may trust it, in one word, and why (DIGEST G25–G27).

Half of the Manhattan distance to the fleet's profile is the part of its samples that are at the wrong entries. What its curve
foretells of it, at the upper end of C's interval, makes a profile steady, fair or rough. Beside that, entropy over days tells
whether it is always a profile of the same thing: two behaviours of one application differ by half a nat and more.
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
"""Part of the samples at wrong entries up to which a profile is steady …"""
FAIR = 0.15
"""… and up to which it is fair: enough for its hottest entries."""
_JUMP = 0.25
"""Nats by which a day's entropy must differ from the others' to matter: as many entries more or less as 28 %."""
_SURE = 0.01
"""p-value below which days' entropies differ."""
LEAST_DAY = 8
"""Visits of a day whose entropy means anything. Entropy of few samples is too small: of one visit 3.5 nats where fifty said 4.4."""
_LEAST_SAMPLES = 0.25
"""Of the median day's samples, for the same reason."""


class Badge(StrEnum):
    """What a profile may be used for."""

    STEADY = "steady"
    """Small entries too."""
    FAIR = "fair"
    """The hottest entries."""
    ROUGH = "rough"
    """Nothing but its very top."""
    SHIFTING = "shifting"
    """It is not of one thing: days differ in kind, so look at them apart."""
    FEW = "few"
    """Too few visits have it to say anything."""


@dataclass(frozen=True, slots=True)
class Stability:
    """A badge and its reasons."""

    badge: Badge
    misplaced: Measured | None
    """Part of the samples at wrong entries, 0…1; None where too few visits have it."""
    samples: float
    more_visits: float | None
    """Visits with the selection, beyond the present ones, that would make it steady; 0 if it is; None if not known."""
    shifted: tuple[int, ...]
    """Days whose entropy is not that of the others, by their places."""


def judge(
    convergence: Convergence | None,
    samples: float,
    entropies: Sequence[Measured] = (),
    *,
    day_visits: Sequence[int] = (),
    day_samples: Sequence[float] = (),
) -> Stability:
    """The badge of a profile of `samples` > 0, by its fit (None: too few visits) and its entropy day by day.

    Days as for `shifted_days`. Raises NotANumber, BadShape.
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
    # By the curve that is as much further away throughout as the interval's end is now.
    farther = far.hi / far.value if far.value > 0 else 1.0
    needed = convergence.samples_needed(FARTHEST * STEADY / farther)
    more = max(0.0, needed - samples) / convergence.samples_per_visit
    return Stability(badge, misplaced, samples, more, shifted)


def shifted_days(
    entropies: Sequence[Measured], *, visits: Sequence[int] = (), samples: Sequence[float] = ()
) -> tuple[int, ...]:
    """Days whose entropy differs from the others' by more than their intervals and by a quarter of a nat, by their places.

    Days that cannot be compared are left out: an interval of no width is that of a single visit, and of no use; fewer than 8
    `visits`; fewer `samples` than a quarter of the median day's. () where fewer than 3 are left. Raises NotANumber for an entropy
    without a finite interval, BadShape where visits or samples are not given for every day.
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
