"""Matches the rows of two selections: the heaviest rows of either, and the place of each on both sides."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from storage.arrays import Float, Int64, group_starts
from storage.query.shapes.table_frames import FrameRows
from storage.query.shapes.table_rows import LabelRows, Rows
from storage.snapshots import query_budget

NOWHERE = -1
_ROW_BYTES = 80
"""Memory of a row while it is matched."""


class Heaviest(NamedTuple):
    """The rows with the largest share in either selection, largest first."""

    places: tuple[Int64, Int64]
    """Places of each row on both sides; `NOWHERE`: the side does not have it."""
    rows_total: int
    """Rows that occur in either."""


def heaviest(sides: tuple[Rows, Rows], shares: Sequence[Float], limit: int) -> Heaviest:
    """At most `limit` rows; `shares` are those of each side's rows, which must be rows of labels or frames.

    Rows are matched by group and function (file, binary), not by name: several functions may have the same name.
    """
    numbers = _numbers(sides)
    tops = [np.argsort(-share, kind="stable")[:limit] for share in shares]
    share = np.concatenate([share[top] for share, top in zip(shares, tops, strict=True)])
    found, first, which = np.unique(
        np.concatenate([number[top] for number, top in zip(numbers, tops, strict=True)]),
        return_index=True,
        return_inverse=True,
    )
    largest = np.zeros(len(found))
    np.maximum.at(largest, which, share)
    chosen = found[np.lexsort((first, -largest))[:limit]]
    places = _places(numbers[0], chosen), _places(numbers[1], chosen)
    # The numbers of each side are nearly sorted: this takes 0.01 s for two million, np.unique 2 s.
    return Heaviest(places, len(group_starts(np.sort(np.concatenate(numbers), kind="stable"))))


def _numbers(sides: tuple[Rows, Rows]) -> list[Int64]:
    """A number for each row of each side; a row on both sides has one number."""
    query_budget.take(_ROW_BYTES * sum(len(rows.own) for rows in sides))
    of_labels: dict[tuple[tuple[str, str], ...], int] = {}
    groups, frames = [], []
    for rows in sides:
        if not isinstance(rows, LabelRows | FrameRows):
            raise TypeError("only rows by visit can be compared")
        known = rows.identities()
        group = [
            of_labels.setdefault(tuple(sorted(labels.items())), len(of_labels)) for labels in known.labels
        ]
        groups.append(np.array(group, np.int64)[known.group])
        frames.append(known.frame)
    frame = np.concatenate(frames)
    size = int(frame.max(initial=0)) + 1
    if len(of_labels) * size >= 1 << 63:  # pairs of a file and a binary are that large
        used, frame = np.unique(frame, return_inverse=True)
        size = len(used)
    number = np.concatenate(groups) * size + frame
    return np.split(number, [len(frames[0])])


def _places(numbers: Int64, wanted: Int64) -> Int64:
    """The places of the wanted numbers among those of a side's rows."""
    order = np.argsort(numbers, kind="stable")
    at = np.searchsorted(numbers, wanted, sorter=order)
    places = np.full(len(wanted), NOWHERE)
    inside = np.flatnonzero(at < len(numbers))
    candidate = order[at[inside]]
    same = numbers[candidate] == wanted[inside]
    places[inside[same]] = candidate[same]
    return places
