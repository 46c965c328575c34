"""The visits of two selections with their actual weights, permuted between the sides, and resampled."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int
from analysis.movers.decomposition import Change, decompose
from analysis.movers.function_parts import Parts, sum_of_values
from analysis.permutation_test import Pool, deals, pool, sides
from analysis.visit_table import VisitTable

MOST_VALUES = 64
"""Values of a dimension that are examined individually: there may be thousands of versions, most on one or two
machines."""
SHUFFLES = 999
RESAMPLES = 200
_AT_ONCE = 2_000_000
"""Visits × permutations of a block: 16 MB per array."""

Sides = tuple[Float, Float]
"""Weights of all visits, those of `now` first, in `now` and in `before`; (D, n) each."""


@dataclass(frozen=True, slots=True)
class ByValue:
    """All visits of both selections by the values of one dimension, those of `now` first; (D, G) each."""

    value: Int
    """Number of each value, ascending; (G,). −1 is last: all values beyond the `MOST_VALUES` with most units."""
    y: Float
    x: Float

    @classmethod
    def of(cls, now: Parts, before: Parts, dimension: int) -> "ByValue":
        """By the dimension's values in either selection."""
        units = sum_of_values(now, before, dimension)
        kept = np.sort(np.argsort(-units, kind="stable")[:MOST_VALUES])
        column = np.full(len(units), len(kept), np.int64)
        column[kept] = np.arange(len(kept))
        count = len(kept) + (len(kept) < len(units))
        tables = [parts.by_value(column[parts.values[:, dimension]], count) for parts in (now, before)]
        y, x = (np.concatenate([table[place] for table in tables]) for place in (0, 1))
        return cls(np.append(kept, -1)[:count], y, x)

    def change(self, weights: Sides) -> Change:
        """The change for n weightings."""
        (in_now, in_before) = weights
        return decompose(in_now.T @ self.y, in_now.T @ self.x, in_before.T @ self.y, in_before.T @ self.x)


@dataclass(frozen=True, slots=True)
class Visits:
    """The visits of both selections, for repeated weighting."""

    pool: Pool
    resampled_with: Int
    """Resampling group: visits of one stratum, on one side or on both. Strata with one visit are joined."""
    same: Int
    """Equal numbers for the two entries of a visit on both sides."""

    @classmethod
    def of(cls, now: Parts, before: Parts) -> "Visits":
        """All visits of both."""
        keys, strata = (
            np.concatenate([getattr(parts, name) for parts in (now, before)]) for name in ("key", "stratum")
        )
        member = np.where(
            np.isin(keys, np.intersect1d(now.key, before.key)), 2, np.arange(len(keys)) >= now.visits
        )
        _, group = np.unique(np.column_stack([strata, member]), axis=0, return_inverse=True)
        _, same = np.unique(keys, return_inverse=True)
        group = _joined(group.ravel().astype(np.int64), member.astype(np.int64), same.astype(np.int64))
        return cls(pool(_table(now), _table(before)), group, same.astype(np.int64))

    def seen(self) -> Sides:
        """The actual weights; n = 1."""
        return sides(self.pool, np.arange(len(self.same))[None, :])

    def shuffled(self, random: np.random.Generator, count: int = SHUFFLES) -> Iterator[Sides]:
        """Random permutations between the sides, within strata, in blocks."""
        for some in self._blocks(count):
            yield sides(self.pool, deals(self.pool, some, random))

    def resampled(self, random: np.random.Generator, count: int = RESAMPLES) -> Iterator[Sides]:
        """Draws with replacement, within strata and sides, in blocks.

        Of n visits n − 1 are drawn, each with factor n/(n − 1): with n draws, strata of two visits vary half as much as
        they should, and intervals contained the truth in 83 and not 95 %. Source: Rao and Wu, Journal of the American
        Statistical Association 83 (1988), 231-241.
        """
        in_now, in_before = self.seen()
        for some in self._blocks(count):
            times = np.zeros((int(self.same.max()) + 1, some))
            for group in np.unique(self.resampled_with):
                members = np.unique(self.same[self.resampled_with == group])
                n = len(members)
                drawn = random.multinomial(max(n - 1, 1), np.full(n, 1 / n), some).T
                times[members] = drawn * (n / max(n - 1, 1))
            yield in_now * times[self.same], in_before * times[self.same]

    def _blocks(self, count: int) -> Iterator[int]:
        block = max(1, _AT_ONCE // len(self.same))
        while count > 0:
            yield min(block, count)
            count -= block


def _joined(group: Int, member: Int, same: Int) -> Int:
    """Join groups with one visit, or, if there is only one such, with the smallest other group of its side.

    The variation of a single visit is unknown: resampled by itself it would not vary at all.
    """
    found = group.copy()
    for side in np.unique(member):
        first = np.unique(np.column_stack([group, same])[member == side], axis=0)[:, 0]
        numbers, counts = np.unique(first, return_counts=True)
        single = numbers[counts == 1]
        if len(single) == 1 and len(numbers) > 1:
            others = counts > 1
            single = np.append(single, numbers[others][np.argmin(counts[others])])
        found[np.isin(group, single) & (member == side)] = single.min(initial=len(group))
    return found


def _table(parts: Parts) -> VisitTable:
    y, x = parts.whole()
    visit = np.flatnonzero(y)
    return VisitTable(
        key=parts.key,
        stratum=parts.stratum,
        weight=parts.weight,
        x=x,
        row=np.zeros(len(visit), np.int64),
        visit=visit,
        y=y[visit],
        rows=1,
    )
