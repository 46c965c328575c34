"""Searches, sorts and pages the rows of a table; ties are ordered by name, so pages neither repeat nor miss a row."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from storage.arrays import Bool, Float, Int64
from storage.query.selections import patterns
from storage.query.shapes.frame_keys import LINE
from storage.query.shapes.table_rows import Rows
from storage.snapshots import query_budget

_NOT_NAMES = frozenset({"status", "kind"})
"""Members of a key that are not names: they are not searched."""
_TOGETHER = 1000
"""Rows or names between two checks of the query's budget."""
_RUN = 50_000
"""Names that are sorted between two checks: 0.05 s."""
_TEXT_BYTES = 120
"""Memory of a distinct name: an entry of a dictionary, and its rank."""


class Sort(StrEnum):
    """Order of the rows; ties are ordered by name."""

    SELF = "self"
    SELF_DESC = "-self"
    TOTAL = "total"
    TOTAL_DESC = "-total"
    NAME = "name"
    NAME_DESC = "-name"


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows to show."""

    sort: Sort = Sort.SELF_DESC
    limit: int = 100
    offset: int = 0
    find: str = ""
    """Only rows with this text in one of their names; case does not matter."""
    find_regex: str = ""
    """Only rows with a name that this RE2 expression matches somewhere."""


def ordered(rows: Rows, page: Page) -> Int64:
    """Places of the rows that match `find` and `find_regex`, in the page's order. Raises `BadSelection` for the latter.

    Rows behind the page are in no order. Among ties only the runs that the page shows a part of are ordered, each as a
    whole: names are costly.
    """
    places = np.arange(len(rows.own))
    if test := _test(page):
        places = places[_Names(rows, places).passing(test)]
    if page.sort in {Sort.NAME, Sort.NAME_DESC}:
        return places[_Names(rows, places).order(descending=page.sort is Sort.NAME_DESC)]
    measure = rows.own_weight if page.sort in {Sort.SELF, Sort.SELF_DESC} else rows.total_weight
    sign = -1 if page.sort in {Sort.SELF_DESC, Sort.TOTAL_DESC} else 1
    # Rounded: the order of summation changes the last digits of equal sums, so they would not tie.
    rounded = np.round(measure[places] / max(float(measure.max(initial=0.0)), 1e-300), 12)
    order = _sorting(sign * rounded, page.offset + page.limit)
    places, rounded = places[order], rounded[order]
    starts = np.flatnonzero(np.diff(rounded, prepend=np.nan) != 0)  # NaN differs from everything
    ends = np.append(starts[1:], len(places))
    shown = (starts < page.offset + page.limit) & (ends > page.offset) & (ends - starts > 1)
    for low, high in zip(starts[shown].tolist(), ends[shown].tolist(), strict=True):
        places[low:high] = places[low:high][_Names(rows, places[low:high]).order()]
    return places


def _sorting(keys: Float, most: int) -> Int64:
    """The stable order that sorts the keys as far as the first `most` and their equals; the rest is unsorted."""
    if most * _FEW > len(keys):
        return np.argsort(keys, kind="stable")
    if not most:
        return np.arange(len(keys))
    last = np.partition(keys, most - 1)[most - 1]
    front: Bool = keys <= last
    first = np.flatnonzero(front)
    return np.concatenate((first[np.argsort(keys[first], kind="stable")], np.flatnonzero(~front)))


_FEW = 4
"""A page of at most one in so many rows is sorted alone, which is faster than sorting all rows."""


def _test(page: Page) -> Callable[[str], bool] | None:
    """A test for names that are searched for; None: all rows match."""
    if not page.find and not page.find_regex:
        return None
    sought = page.find.casefold()
    matches = patterns.search(page.find_regex, parameter="find_regex") if page.find_regex else None
    return lambda text: sought in text.casefold() and (matches is None or matches(text))


class _Names:
    """The names of some rows, for searching and sorting: each distinct name once."""

    def __init__(self, rows: Rows, places: Int64) -> None:
        self._rows = len(places)
        self._texts: dict[str, int] = {}
        self._columns: dict[str, Int64] = {}
        """By member of the keys: each row's text number, or the line itself; −1: the row has no such member."""
        for low in range(0, len(places), _TOGETHER):
            query_budget.checkpoint()
            met = len(self._texts)
            for at, place in enumerate(places[low : low + _TOGETHER].tolist(), low):
                for name, text in rows.key(place).items():
                    if name not in _NOT_NAMES:
                        self._column(name)[at] = int(text) if name == LINE else self._number(text)
            query_budget.take(_TEXT_BYTES * (len(self._texts) - met))

    def passing(self, test: Callable[[str], bool]) -> Bool:
        """Marks rows with a name that passes; lines are not names."""
        texts = list(self._texts)
        passed = np.zeros(len(texts) + 1, np.bool_)  # the last entry is for rows without a name
        for low in range(0, len(texts), _TOGETHER):
            query_budget.checkpoint()  # the worst patterns take 0.1 ms per name
            some = texts[low : low + _TOGETHER]
            passed[low : low + len(some)] = [test(text) for text in some]
        found = np.zeros(self._rows, np.bool_)
        for name, column in self._columns.items():
            if name != LINE:
                found |= passed[column]
        return found

    def order(self, *, descending: bool = False) -> Int64:
        """The stable order that sorts the rows by their names, and lines as numbers."""
        if not self._columns:
            return np.arange(self._rows)
        rank = np.full(len(self._texts) + 1, -1)
        rank[[self._texts[text] for text in _ascending(list(self._texts))]] = np.arange(len(self._texts))
        keys = [column if name == LINE else rank[column] for name, column in self._columns.items()]
        sign = -1 if descending else 1
        order: Int64 = np.lexsort([sign * key for key in reversed(keys)])
        return order

    def _column(self, name: str) -> Int64:
        if name not in self._columns:
            query_budget.take(2 * 8 * self._rows)
            self._columns[name] = np.full(self._rows, -1)
        return self._columns[name]

    def _number(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def _ascending(texts: list[str]) -> list[str]:
    """The texts, sorted in parts: a running sort of a list cannot be interrupted."""
    if len(texts) <= _RUN:
        query_budget.checkpoint()
        return sorted(texts)
    middle = len(texts) // 2
    return sorted(_ascending(texts[:middle]) + _ascending(texts[middle:]))  # merges two ascending runs
