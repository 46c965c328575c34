"""When the visits of an application, or of the whole fleet, first and last saw each value of a label.

A value that the first visits of a range did not see may be new, or only rare. If visits were drawn in any other order,
k of N visits that saw it would all lie after the first b with the probability C(N − b, k) / C(N, k). Only below
`NEW` does a first sight count as a change.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from storage.arrays import Float, Int64

NEW = 0.01
"""Largest probability that chance explains why earlier visits did not see a new value."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One value of a label in one scope: an application, or the fleet."""

    scope: int
    value: int
    visits: int
    """Visits that saw it."""
    first: float
    """Draw time of the first of them; seconds since 1970, like all times here."""
    last: float
    without: float
    """Draw time of the last visit of the scope before `first`; NaN: none."""
    before: int
    """Visits of the scope before `first`."""
    middle: float
    """Mean draw time of its visits."""
    chance: float
    """Probability that visits in random order would see it this late, 0…1."""

    @property
    def is_new(self) -> bool:
        """It appeared at `first`; otherwise it may have been there from the beginning."""
        return self.chance <= NEW

    @property
    def age_order(self) -> tuple[float, float]:
        """Sort key from old to new: values without a known beginning first, by the mean time of their visits."""
        return (self.first if self.is_new else -np.inf, self.middle)


def sights(scope: Int64, value: Int64, visit: Int64, time: Float) -> list[Sight]:
    """All values of all scopes, by scope and value; `time` is by visit, the other columns are by profile."""
    if not len(visit):
        return []
    seen = _distinct(scope, value, visit)
    of_scope = _distinct(scope, visit)
    order = np.lexsort((time[of_scope[1]], of_scope[0]))
    scopes, times = of_scope[0][order], time[of_scope[1]][order]
    starts = np.flatnonzero(np.any(np.diff(seen[:2], axis=1, prepend=-1) != 0, axis=0))
    found = []
    for a, b in zip(starts.tolist(), [*starts[1:].tolist(), seen.shape[1]], strict=True):
        at = time[seen[2, a:b]]
        low, high = np.searchsorted(scopes, seen[0, a], "left"), np.searchsorted(scopes, seen[0, a], "right")
        all_times = times[low:high]
        first = float(at.min())
        before = int(np.searchsorted(all_times, first, "left"))
        found.append(
            Sight(
                scope=int(seen[0, a]),
                value=int(seen[1, a]),
                visits=b - a,
                first=first,
                last=float(at.max()),
                without=float(all_times[before - 1]) if before else float("nan"),
                before=before,
                middle=float(at.mean()),
                chance=_chance(len(all_times), before, b - a),
            )
        )
    return found


def _distinct(*columns: Int64) -> Int64:
    """The distinct rows of the columns in ascending order; ten times as fast as `np.unique` with an axis."""
    order = np.lexsort(columns[::-1])
    rows = np.stack([column[order] for column in columns])
    first = np.ones(rows.shape[1], np.bool_)
    first[1:] = np.any(np.diff(rows, axis=1) != 0, axis=0)
    return rows[:, first]


def _chance(visits: int, before: int, seen: int) -> float:
    """C(visits − before, seen) / C(visits, seen)."""
    if seen > visits - before:
        return 0.0
    logs = [float(gammaln(n + 1) - gammaln(n - seen + 1)) for n in (visits - before, visits)]
    return float(np.exp(logs[0] - logs[1]))
