"""Which rows of a table stand on a page: searched, sorted, ties by name, so that pages neither repeat nor miss a row."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from storage.query.arrays import Int64
from storage.query.selections import patterns
from storage.query.shapes.frame_keys import LINE
from storage.query.shapes.table_rows import Rows

_NOT_NAMES = frozenset({"status", "kind"})
"""Members of a key that are no names: nobody looks for them."""


class Sort(StrEnum):
    """Order of the rows; ties stand by name."""

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
    """Only rows with this in one of their names, whatever the case."""
    find_regex: str = ""
    """Only rows with a name that this RE2 expression matches somewhere."""


def ordered(rows: Rows, page: Page) -> Int64:
    """Places of the rows that match `find` and `find_regex`, in the page's order. Raises `BadSelection` for the latter.

    Only the ties that the page shows are put in order, and all of those: names are costly.
    """
    names = _Names(rows)
    places = np.arange(len(rows.own))
    if test := _test(page):
        places = places[
            np.fromiter((names.any(place, test) for place in places.tolist()), np.bool_, len(places))
        ]
    if page.sort in {Sort.NAME, Sort.NAME_DESC}:
        by_name = sorted(places.tolist(), key=names.order, reverse=page.sort is Sort.NAME_DESC)
        return np.array(by_name, np.int64)
    measure = rows.own_weight if page.sort in {Sort.SELF, Sort.SELF_DESC} else rows.total_weight
    sign = -1 if page.sort in {Sort.SELF_DESC, Sort.TOTAL_DESC} else 1
    # Rounded: sums of equal units in another order differ in their last digits, and would not tie.
    rounded = np.round(measure[places] / max(float(measure.max(initial=0.0)), 1e-300), 12)
    order = np.argsort(sign * rounded, kind="stable")
    places, rounded = places[order], rounded[order]
    starts = np.flatnonzero(np.diff(rounded, prepend=np.nan) != 0)  # NaN differs from everything
    ends = np.append(starts[1:], len(places))
    shown = (starts < page.offset + page.limit) & (ends > page.offset) & (ends - starts > 1)
    for low, high in zip(starts[shown].tolist(), ends[shown].tolist(), strict=True):
        places[low:high] = sorted(places[low:high].tolist(), key=names.order)
    return places


def _test(page: Page) -> Callable[[str], bool] | None:
    """Whether a name is one that is looked for; None: all are."""
    if not page.find and not page.find_regex:
        return None
    sought = page.find.casefold()
    matches = patterns.search(page.find_regex, parameter="find_regex") if page.find_regex else None
    return lambda text: sought in text.casefold() and (matches is None or matches(text))


class _Names:
    """What rows are called, for searching and sorting."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def any(self, place: int, test: Callable[[str], bool]) -> bool:
        """Whether one of the row's names passes; lines are no names."""
        return any(
            test(text)
            for name, text in self._rows.key(place).items()
            if name not in _NOT_NAMES and name != LINE
        )

    def order(self, place: int) -> tuple[tuple[int, str], ...]:
        """What rows are sorted by: their names, lines as numbers."""
        return tuple(
            (int(text), "") if name == LINE else (0, text)
            for name, text in self._rows.key(place).items()
            if name not in _NOT_NAMES
        )
