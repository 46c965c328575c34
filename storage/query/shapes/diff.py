"""Compares two selections row by row: which rows changed, and which changes chance explains (docs/numbers.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from analysis import estimate
from analysis.diff import Comparison, Diff, comparison, difference, judge
from storage.arrays import Float, Int64
from storage.query.answers.diff import DiffAnswer, DiffRow, Power
from storage.query.answers.figures import Interval, in_units
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import visit_table
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.row_matching import heaviest
from storage.query.shapes.table import all_rows
from storage.query.shapes.table_rows import Rows
from storage.query.shapes.totals import totals

MOST_ROWS = 500
_SEED = 1
"""Seed of the permutations: equal queries have equal results."""


@dataclass(frozen=True, slots=True)
class DiffQuestion:
    """The rows that are heaviest in a selection or its base, compared as totals or as self.

    The base's event is the selection's.
    """

    selection: Selection
    base: Selection
    by: tuple[str, ...] = ("function",)
    limit: int = 100
    own: bool = False

    def answer(self, reading: Reading) -> DiffAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        labels, _ = split_keys(self.by)
        a, b = (reading.visits(side, labels) for side in (self.selection, self.base))
        found = compared(reading, a, b, self.by, limit=self.limit, own=self.own)
        return DiffAnswer(
            selection=selection_echo(self.selection, a.kind),
            base=selection_echo(self.base, a.kind),
            totals=totals(reading.functions, a),
            base_totals=totals(reading.functions, b),
            by=self.by,
            rows=found.by_difference,
            rows_total=found.rows_total,
            power=found.power,
            part=found.part,
            interval_level=found.level,
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One of two selections, in rows."""

    samples: Samples
    rows: Rows

    @classmethod
    def of(cls, reading: Reading, samples: Samples, by: Sequence[str]) -> "Side":
        """The rows of samples that were read with the labels among `by`."""
        return cls(samples, all_rows(reading, samples, by))

    @property
    def visits(self) -> Visits:
        """The visits' evidence."""
        if not isinstance(self.samples.evidence, Visits):
            raise TypeError("a comparison needs the samples by visit")
        return self.samples.evidence

    def shares(self, *, own: bool) -> Float:
        """Shares of all rows."""
        whole = self.samples.whole
        weight = self.rows.own_weight if own else self.rows.total_weight
        return weight / whole if whole > 0 else np.zeros(len(weight))

    def contributions(self, places: Int64, *, own: bool) -> PerVisit:
        """The units of each visit in the rows at these places; -1 stands for a row that does not exist."""
        there = np.flatnonzero(places >= 0)
        contributions = self.rows.contributions(places[there])
        found = contributions.own if own else contributions.total
        return replace(found, row=there[found.row], rows=len(places))


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Compared rows before they are judged together with those of other comparisons."""

    rows: tuple[DiffRow, ...]
    """Without p, q and interval."""
    rows_total: int
    test: Comparison | None
    """None: one of the sides is not a random sample."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The heaviest rows of either of two selections, with the evidence for their differences."""

    result: Diff | None
    """None: one of the sides is not a random sample."""
    rows: tuple[DiffRow, ...]
    rows_total: int

    @property
    def by_difference(self) -> tuple[DiffRow, ...]:
        """The rows by descending absolute difference; ties, such as a row that gains what another loses, by key."""
        # The order of summation changes the last bits of a sum; that must not change the order of rows.
        return tuple(sorted(self.rows, key=lambda row: (-round(abs(row.delta), 12), *row.key.values())))

    @property
    def power(self) -> Power | None:
        """The power of the visits; None without a result."""
        if self.result is None:
            return None
        found = self.result.power
        return Power(found.factor, found.share, found.power)

    @property
    def part(self) -> float:
        """Share of the visits that p-values, intervals of differences and power are computed from, 0…1."""
        return 1.0 if self.result is None else self.result.part

    @property
    def level(self) -> float | None:
        """Level of the intervals of all rows' differences, 0.95…1; None without a result."""
        return None if self.result is None else self.result.level


@dataclass(frozen=True, slots=True)
class Compared(Judged):
    """A judged comparison with its sides."""

    sides: tuple[Side, Side]
    places: tuple[Int64, Int64]
    """Place of each row on both sides; −1: the side does not have it."""


@dataclass(frozen=True, slots=True)
class Matched:
    """An unjudged comparison with its sides."""

    sides: tuple[Side, Side]
    places: tuple[Int64, Int64]
    unjudged: Unjudged


def compared(
    reading: Reading, a: Samples, b: Samples, by: Sequence[str], *, limit: int, own: bool = False
) -> Compared:
    """The rows that are heaviest in either of two selections, by total or by self.

    The samples of both must have been read visit by visit, with the labels among `by`.
    """
    (found,) = judged([matched(reading, a, b, by, limit=limit, own=own)])
    return found


def matched(
    reading: Reading,
    a: Samples,
    b: Samples,
    by: Sequence[str],
    *,
    limit: int,
    own: bool = False,
    part: float = 1.0,
) -> Matched:
    """As `compared`, not judged; `part` is the share of a comparison's time that its test may take, 0…1."""
    sides = (Side.of(reading, a, by), Side.of(reading, b, by))
    shares = [side.shares(own=own) for side in sides]
    places, rows_total = heaviest((sides[0].rows, sides[1].rows), shares, limit)
    first, second = (side.contributions(place, own=own) for side, place in zip(sides, places, strict=True))
    a_share, b_share = (
        [float(share[p]) if p >= 0 else 0.0 for p in place.tolist()]
        for share, place in zip(shares, places, strict=True)
    )
    levels = _levels(sides, (first, second))
    scale = a.kind.seconds_per_unit
    rows = tuple(
        DiffRow(
            key=_row_key(sides, place),
            function_id=_function_id(sides, place),
            a_share=a_share[i],
            b_share=b_share[i],
            delta=a_share[i] - b_share[i],
            **_evidence(None, i),
            **_cores(None if levels is None else levels[i], scale),
        )
        for i, place in enumerate(zip(*(one.tolist() for one in places), strict=True))
    )
    return Matched(sides, places, Unjudged(rows, rows_total, _test(sides, (first, second), part)))


def judged(found: Sequence[Matched]) -> list[Compared]:
    """As `judged_rows`, with the sides of each comparison."""
    return [
        Compared(one.result, one.rows, one.rows_total, match.sides, match.places)
        for match, one in zip(found, judged_rows([match.unjudged for match in found]), strict=True)
    ]


def judged_rows(found: Sequence[Unjudged]) -> list[Judged]:
    """The comparisons, with false discoveries controlled over the rows of all of them together (docs/numbers.md)."""
    results = iter(judge([one.test for one in found if one.test is not None]))
    made = []
    for one in found:
        result = None if one.test is None else next(results)
        rows = tuple(replace(row, **_evidence(result, i)) for i, row in enumerate(one.rows))
        made.append(Judged(result, rows, one.rows_total))
    return made


def visit_numbers(sides: Sequence[Side]) -> list[Int64]:
    """A number for each visit of each side; a visit on both sides has one number."""
    _, number = np.unique(np.concatenate([side.visits.id for side in sides]), return_inverse=True)
    return np.split(number.astype(np.int64), [len(sides[0].visits)])


def _test(sides: Sequence[Side], contributions: Sequence[PerVisit], part: float) -> Comparison | None:
    if any(side.visits.design.weights is None for side in sides):
        return None
    tables = [
        visit_table(side.visits, found, key)
        for side, found, key in zip(sides, contributions, visit_numbers(sides), strict=True)
    ]
    return comparison(tables[0], tables[1], seed=_SEED, part=part)


_Levels = tuple[Interval, Interval, Interval]
"""A row's two levels and their difference, in units of the fleet per covered second (e.g. ns of CPU time)."""


def _levels(sides: Sequence[Side], contributions: Sequence[PerVisit]) -> list[_Levels] | None:
    """The levels of all rows.

    None if one of the sides is not a random sample, for gauges, which have no level per second, and where nothing is
    ingested.
    """
    found = []
    for side, pairs in zip(sides, contributions, strict=True):
        moments, seconds = side.visits.moments(pairs), side.visits.design.coverage.estimated_s
        if moments is None or not seconds > 0 or side.samples.kind.gauge:
            return None
        found.append(estimate.totals(moments.scaled(1 / seconds)))
        if np.isnan(found[-1].hi).any():
            return None  # no observation gives an upper bound
    columns = [(one.value, one.lo, one.hi) for one in found] + [difference(*found)]
    first, second, delta = (
        [Interval(*values) for values in zip(*(column.tolist() for column in one), strict=True)]
        for one in columns
    )
    return list(zip(first, second, delta, strict=True))


class _Cores(TypedDict):
    """The members of a row that come from its levels."""

    a_cores: Interval | None
    b_cores: Interval | None
    cores: Interval | None


def _cores(levels: _Levels | None, scale: float | None) -> _Cores:
    """A row's levels in cores; `scale` is the core-seconds of a unit."""
    first, second, delta = levels or (None, None, None)
    return {
        "a_cores": in_units(first, scale),
        "b_cores": in_units(second, scale),
        "cores": in_units(delta, scale),
    }


class _Evidence(TypedDict):
    """The members of a row that come from the visits' evidence for its difference."""

    lo: float | None
    hi: float | None
    p: float | None
    q: float | None
    significant: bool
    low_confidence: bool


def _evidence(result: Diff | None, row: int) -> _Evidence:
    if result is None:
        return {"lo": None, "hi": None, "p": None, "q": None, "significant": False, "low_confidence": False}
    return {
        "lo": float(result.lo[row]),
        "hi": float(result.hi[row]),
        "p": float(result.p[row]),
        "q": float(result.q[row]),
        "significant": bool(result.significant[row]),
        "low_confidence": bool(result.low_confidence[row]),
    }


def _row_key(sides: Sequence[Side], places: tuple[int, ...]) -> dict[str, str]:
    return next(side.rows.key(place) for side, place in zip(sides, places, strict=True) if place >= 0)


def _function_id(sides: Sequence[Side], places: tuple[int, ...]) -> int | None:
    return next(side.rows.function_id(place) for side, place in zip(sides, places, strict=True) if place >= 0)
