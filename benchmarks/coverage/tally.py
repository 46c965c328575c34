"""Counts of correct results of the product."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.coverage.fleet import SECONDS, joined
from benchmarks.coverage.plan import DAYS, HOURS, Kind, busyness_of, grown_functions, visits_of
from benchmarks.coverage.store import PERIOD

if TYPE_CHECKING:
    from benchmarks.coverage.fleet import Fleet, Float, Planted
    from benchmarks.coverage.plan import Window
    from benchmarks.coverage.worker_pool import Answered, Compared

_Z = 1.96


@dataclass
class Intervals:
    """Shares of the functions planted with one share, in windows of one number of visits."""

    fleet: Fleet
    planted: Planted
    visits: int
    paths: list[str] = field(default_factory=list)
    """Source of each response: cells, chunks or mixed."""
    _error: list[Float] = field(default_factory=list)
    _below: list[Float] = field(default_factory=list)
    _above: list[Float] = field(default_factory=list)
    _width: list[Float] = field(default_factory=list)
    _few: list[Float] = field(default_factory=list)
    _ingested: list[int] = field(default_factory=list)

    def add(self, window: Window, answered: Answered) -> None:
        """Count one replication."""
        functions = self.fleet.functions(self.planted)
        truth = self.fleet.truth[window.day]
        share = (truth / truth.sum())[functions]
        self._error.append(answered.share[functions] - share)
        self._below.append(answered.hi[functions] < share)
        self._above.append(answered.lo[functions] > share)
        self._width.append(answered.hi[functions] - answered.lo[functions])
        self._few.append(answered.low_confidence[functions])
        self._ingested.append(answered.ingested)
        self.paths.append(answered.path)

    @property
    def replications(self) -> int:
        """Number of windows queried."""
        return len(self._error)

    @property
    def coverage(self) -> float:
        """Share of intervals that contain the true value, over functions and replications."""
        return 1 - self.below - self.above

    @property
    def below(self) -> float:
        """Share of intervals below the true value."""
        return float(np.mean(self._below))

    @property
    def above(self) -> float:
        """Share of intervals above the true value."""
        return float(np.mean(self._above))

    @property
    def standard_error(self) -> float:
        """Standard error of the coverage, between replications: functions of one replication share their visits."""
        missed = np.mean(np.array(self._below) | np.array(self._above), axis=1)
        return float(missed.std(ddof=1) / np.sqrt(self.replications))

    @property
    def width(self) -> float:
        """Mean width relative to the oracle's, which uses each function's true standard error."""
        oracle = 2 * _Z * np.std(self._error, axis=0, ddof=1)
        return float(np.mean(self._width) / oracle.mean())

    @property
    def low_confidence(self) -> float:
        """Share of rows that the product marked as low confidence."""
        return float(np.mean(self._few))

    @property
    def ingested(self) -> float:
        """Mean number of ingested visits per window."""
        return float(np.mean(self._ingested))


@dataclass
class Totals:
    """The whole fleet's CPU time in windows of a whole campaign, relative to the true value."""

    fleet: Fleet
    kind: Kind = Kind.PLAIN
    _relative: list[float] = field(default_factory=list)
    _covered: list[bool] = field(default_factory=list)

    def truth(self, day: int) -> float:
        """Expected nanoseconds of the fleet in a campaign's hours."""
        return float(self._samples_of_hours[day]) * PERIOD * 3600 / SECONDS

    @cached_property
    def _samples_of_hours(self) -> Float:
        """Expected samples in `SECONDS` of each hour, summed, by day."""
        hours = Counter(busyness_of(self.kind))
        by_load: list[Float] = [n * self.fleet.truth_at(load).sum(axis=1) for load, n in hours.items()]
        return np.asarray(np.sum(by_load, axis=0), np.float64)

    def add(self, window: Window, answered: Answered) -> None:
        """Count one replication."""
        truth = self.truth(window.day)
        self._relative.append(answered.total / truth - 1)
        self._covered.append(answered.total_lo <= truth <= answered.total_hi)

    @property
    def bias(self) -> float:
        """Mean relative error."""
        return float(np.mean(self._relative))

    @property
    def standard_error(self) -> float:
        """Standard error of the bias."""
        return float(np.std(self._relative, ddof=1) / np.sqrt(len(self._relative)))

    @property
    def coverage(self) -> float:
        """Share of the totals' intervals that contain the true value."""
        return float(np.mean(self._covered))

    def unadjusted(self, *, pool_seed: int, campaigns: int) -> float:
        """The bias with equal weights for all visits of a stratum, whatever their utilisation."""
        errors = []
        for campaign in range(campaigns):
            seen = joined(visits_of(self.fleet, campaign, pool_seed, self.kind))
            stratum, samples = seen.stratum[seen.answered], seen.counts[seen.answered].sum(axis=1)
            weight = self.fleet.population / np.bincount(stratum, minlength=len(self.fleet.population))
            total = float((weight[stratum] * samples).sum()) * PERIOD * HOURS * 3600 / SECONDS
            errors.append(total / self.truth(campaign % DAYS) - 1)
        return float(np.mean(errors))


@dataclass
class Changes:
    """Comparisons of two windows each."""

    fleet: Fleet
    what: str
    _false: list[int] = field(default_factory=list)
    _found: list[float] = field(default_factory=list)
    _power: list[float] = field(default_factory=list)

    def add(self, windows: tuple[Window, Window], found: Compared) -> None:
        """Count one comparison."""
        ours = windows[0]
        names = self.fleet.names
        grown = grown_functions(self.fleet, ours.campaign).tolist() if ours.kind == Kind.GROWN else []
        changed = {names[number] for number in grown}
        # If functions have grown, the rest has truly shrunk.
        real = changed | {"other"} if grown else set()
        self._false.append(len(found.significant - real))
        self._power.append(found.power)
        if changed:
            self._found.append(len(found.significant & changed) / len(changed))

    @property
    def comparisons(self) -> int:
        """Number of comparisons."""
        return len(self._false)

    @property
    def any_false(self) -> float:
        """Share of comparisons that reported a change where there is none."""
        return float(np.mean(np.array(self._false) > 0))

    @property
    def standard_error(self) -> float:
        """Standard error of `any_false`."""
        return float(np.sqrt(self.any_false * (1 - self.any_false) / self.comparisons))

    @property
    def found(self) -> float:
        """Share of real changes that were found."""
        return float(np.mean(self._found))

    @property
    def stated(self) -> float:
        """Mean probability to find one, as stated by the product."""
        return float(np.mean(self._power))
