"""Two selections row by row: what takes more of the fleet now, and what chance explains (docs/numbers.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.diff import Diff, Power, compare
from storage.query.arrays import Float, Int64
from storage.query.facts.scan import SampleType
from storage.query.reader import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.table import all_rows
from storage.query.shapes.table_rows import Rows
from storage.query.shapes.totals import Totals, totals
from storage.query.weighing.by_visit import ByVisit
from storage.query.weighing.evidence import Visits
from storage.query.weighing.visit_tables import visit_table

MOST_ROWS = 500
_SEED = 1
"""Of the shuffles: one question has one answer."""
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the visits say about a difference of shares."""

    lo: float
    hi: float
    """95 % interval of the difference."""
    p: float
    q: float
    """Smallest rate of false discoveries at which it is significant."""
    significant: bool
    few: bool


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of both selections."""

    key: dict[str, str]
    function_id: int | None
    a_share: float
    """Of the selection, 0…1."""
    b_share: float
    """Of its base."""
    evidence: Evidence | None
    """None: one of them is no random sample."""

    @property
    def delta(self) -> float:
        """Share in the selection less that in its base."""
        return self.a_share - self.b_share


@dataclass(frozen=True, slots=True)
class Comparison:
    """The heaviest rows of either selection, by descending difference."""

    rows: tuple[DiffRow, ...]
    rows_total: int
    """Rows that either has."""
    power: Power | None
    part: float
    """Share of the visits that p-values and power are of, 0…1."""


@dataclass(frozen=True, slots=True)
class DiffAnswer:
    """Two selections compared, and what they were made of."""

    kind: SampleType
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    comparison: Comparison


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
        found = diff(reading, a, b, self.by, limit=self.limit, own=self.own)
        a_totals, b_totals = (totals(reading.functions, side) for side in (a, b))
        return DiffAnswer(a.kind, a_totals, b_totals, self.by, found)


@dataclass(frozen=True, slots=True)
class _Side:
    samples: Samples
    rows: Rows
    places: dict[tuple[str, ...], int]
    """Of every row, by the values of its key."""

    @classmethod
    def of(cls, reading: Reading, samples: Samples, by: Sequence[str]) -> "_Side":
        rows = all_rows(reading, samples, by)
        places = {tuple(rows.key(place).values()): place for place in range(len(rows.own))}
        return cls(samples, rows, places)

    @property
    def visits(self) -> Visits:
        if not isinstance(self.samples.evidence, Visits):
            raise TypeError("selections are compared visit by visit")
        return self.samples.evidence

    def shares(self, *, own: bool) -> Float:
        """Of all rows."""
        whole = self.samples.whole
        weight = self.rows.own_weight if own else self.rows.total_weight
        return weight / whole if whole > 0 else np.zeros(len(weight))

    def brought(self, places: Int64, *, own: bool) -> ByVisit:
        """What each visit brought to the rows at these places, -1 for a row that is not there."""
        there = np.flatnonzero(places >= 0)
        brought = self.rows.brought(places[there])
        found = brought.own if own else brought.total
        return replace(found, row=there[found.row], rows=len(places))


def diff(
    reading: Reading,
    a: Samples,
    b: Samples,
    by: Sequence[str],
    *,
    limit: int,
    own: bool = False,
) -> Comparison:
    """The rows that are heaviest in either of two selections, as totals or as self.

    Both were read with the labels among `by`, visit by visit.
    """
    sides = [_Side.of(reading, samples, by) for samples in (a, b)]
    shares = [side.shares(own=own) for side in sides]
    keys = _heaviest(sides, shares, limit)
    places = [np.array([side.places.get(key, _NOWHERE) for key in keys], np.int64) for side in sides]
    a_share, b_share = (
        [float(share[p]) if p >= 0 else 0.0 for p in place.tolist()]
        for share, place in zip(shares, places, strict=True)
    )
    result = _compared(sides, places, own=own)
    rows = [
        DiffRow(
            key=_row_key(sides, place),
            function_id=_function_id(sides, place),
            a_share=a_share[i],
            b_share=b_share[i],
            evidence=None if result is None else _evidence(result, i),
        )
        for i, place in enumerate(zip(*(place.tolist() for place in places), strict=True))
    ]
    rows.sort(key=lambda row: -abs(row.delta))
    total = len(sides[0].places.keys() | sides[1].places.keys())
    power, part = (None, 1.0) if result is None else (result.power, result.part)
    return Comparison(tuple(rows), total, power, part)


def _heaviest(sides: Sequence[_Side], shares: Sequence[Float], limit: int) -> list[tuple[str, ...]]:
    """Keys of the rows with the largest share in either."""
    heaviest: dict[tuple[str, ...], float] = {}
    for side, share in zip(sides, shares, strict=True):
        for place in np.argsort(-share, kind="stable")[:limit].tolist():
            key = tuple(side.rows.key(place).values())
            heaviest[key] = max(heaviest.get(key, 0.0), float(share[place]))
    return sorted(heaviest, key=lambda key: -heaviest[key])[:limit]


def _compared(sides: Sequence[_Side], places: Sequence[Int64], *, own: bool) -> Diff | None:
    if any(side.visits.design.weights is None for side in sides):
        return None
    _, number = np.unique(np.concatenate([side.visits.id for side in sides]), return_inverse=True)
    numbers = np.split(number.astype(np.int64), [len(sides[0].visits)])
    tables = [
        visit_table(side.visits, side.brought(place, own=own), key)
        for side, place, key in zip(sides, places, numbers, strict=True)
    ]
    return compare(tables[0], tables[1], seed=_SEED)


def _evidence(result: Diff, row: int) -> Evidence:
    return Evidence(
        lo=float(result.lo[row]),
        hi=float(result.hi[row]),
        p=float(result.p[row]),
        q=float(result.q[row]),
        significant=bool(result.significant[row]),
        few=bool(result.few[row]),
    )


def _row_key(sides: Sequence[_Side], places: tuple[int, ...]) -> dict[str, str]:
    return next(side.rows.key(place) for side, place in zip(sides, places, strict=True) if place >= 0)


def _function_id(sides: Sequence[_Side], places: tuple[int, ...]) -> int | None:
    return next(side.rows.function_id(place) for side, place in zip(sides, places, strict=True) if place >= 0)
