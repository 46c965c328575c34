"""GIVEN rows of two selections WHEN the heaviest are looked for THEN each has its place on both sides, whatever it is called."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BudgetExceeded
from storage.query.shapes import row_matching
from storage.query.shapes.row_matching import NOWHERE, heaviest
from storage.query.shapes.table_frames import FrameGroup, FrameRows
from storage.query.shapes.table_rows import Grouping, LabelRows
from storage.snapshots.query_budget import Budget, Limits


@dataclass
class Group:
    """Functions of one application by id, with what each has; none of them says what it is called."""

    labels: dict[str, str]
    ids: list[int]
    shares: list[float]

    def made(self) -> FrameGroup:
        group = FrameGroup.__new__(FrameGroup)
        group.labels, group.keys = self.labels, np.array(self.ids, np.int64)
        group.shared = lambda: group.keys
        group.own = group.total = np.ones(len(self.ids), np.int64)
        group.own_weight = group.total_weight = np.array(self.shares)
        return group


def frame_rows(groups: list[Group]) -> FrameRows:
    rows = FrameRows.__new__(FrameRows)
    rows._groups = [group.made() for group in groups]
    rows._first = np.cumsum([0, *(len(group.ids) for group in groups)])
    rows.own = np.concatenate([np.zeros(0, np.int64), *(group.own for group in rows._groups)])
    return rows


shares = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4])
side = st.dictionaries(st.sampled_from("abc"), st.dictionaries(st.integers(1, 9), shares, min_size=1))


@given(side, side, st.integers(1, 12), st.sampled_from((1, 1 << 58)))
def test_the_heaviest_rows_are_those_of_counting(one: dict, other: dict, limit: int, apart: int):
    """Numbers of functions are small; those of a file and a binary together are not."""
    sides, known = [], []
    for made in (one, other):
        groups = [
            Group(
                {"application": a},
                [f * apart for f in sorted(made[a])],
                [made[a][f] for f in sorted(made[a])],
            )
            for a in sorted(made)
        ]
        sides.append(groups)
        known.append(
            [((g.labels["application"], f), s) for g in groups for f, s in zip(g.ids, g.shares, strict=True)]
        )
    weights = [np.array([share for _, share in rows]) for rows in known]
    (first, second), rows_total = heaviest((frame_rows(sides[0]), frame_rows(sides[1])), weights, limit)
    keys = [[key for key, _ in rows] for rows in known]
    assert rows_total == len({*keys[0], *keys[1]})
    found = []
    for at, there in zip(first.tolist(), second.tolist(), strict=True):
        key = keys[0][at] if at != NOWHERE else keys[1][there]
        assert at == (keys[0].index(key) if key in keys[0] else NOWHERE)
        assert there == (keys[1].index(key) if key in keys[1] else NOWHERE)
        found.append(key)
    assert len(set(found)) == len(found) == min(limit, rows_total)
    largest = {key: max(dict(rows).get(key, 0.0) for rows in known) for key in {*keys[0], *keys[1]}}
    assert [largest[key] for key in found] == sorted(largest.values(), reverse=True)[:limit]


def test_rows_of_labels_are_the_same_by_their_values():
    rows = []
    for present, names in (([0, 1], "ab"), ([1], "xb")):
        made = LabelRows.__new__(LabelRows)
        made._grouping = Grouping(np.zeros(0, np.int64), tuple({"application": name} for name in names))
        made._present, made.own = np.array(present), np.ones(len(present))
        rows.append(made)
    (first, second), rows_total = heaviest((rows[0], rows[1]), [np.array([0.1, 0.2]), np.array([0.9])], 5)
    assert (first.tolist(), second.tolist(), rows_total) == ([1, 0], [0, NOWHERE], 2)


def test_rows_are_of_the_questions_budget():
    rows = frame_rows([Group({}, [1, 2], [0.5, 0.5])])
    budget = Budget(Limits(bytes=4 * row_matching._ROW_BYTES - 1))
    with budget.running(), pytest.raises(BudgetExceeded):
        heaviest((rows, rows), [np.ones(2), np.ones(2)], 5)
