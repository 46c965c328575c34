"""What members of cells have of each function, against a loop over facts."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.rollup import visit_sums
from storage.rollup.batch import Batch, Profiles, Visits, Watched
from storage.rollup.stack_functions import StackFunctions

_STACKS = ((1, 2, 3), (2,), (3, 2, 2, 5), (70_000, 1, 4), (), (9, 8, 7, 6, 5, 4, 3, 2, 1))
"""Functions of stacks 1…, outermost first; the fifth is one that the dictionary has lost."""


def _stack_functions() -> StackFunctions:
    held = StackFunctions()
    flat = np.array([function for stack in _STACKS for function in stack], np.int32)
    held._add(np.arange(1, len(_STACKS) + 1), flat, np.array(list(map(len, _STACKS)), np.int64))
    return held


def _batch(profiles: list[tuple[int, int, list[tuple[int, int]]]]) -> Batch:
    """Profiles (visit, period, facts (stack, samples))."""

    def column(values: Any) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(list(values), np.int64)

    n, visits = len(profiles), 1 + max(visit for visit, _, _ in profiles)
    same = np.zeros(visits, np.int64)
    facts = [fact for _, _, each in profiles for fact in each]
    nothing = np.zeros(0, np.int64)
    return Batch(
        Visits(np.ones(visits, np.int64), same, same, same, same, np.arange(visits)),
        Profiles(
            column(visit for visit, _, _ in profiles), np.ones(n, np.int64), np.ones(n, np.int64),
            np.ones(n, np.int64), column(sum(s for _, s in each) for _, _, each in profiles),
            column(period for _, period, _ in profiles), column(len(each) for _, _, each in profiles),
        ),
        column(stack for stack, _ in facts),
        column(samples for _, samples in facts),
        Watched(nothing, nothing, nothing, np.zeros(0)),
    )  # fmt: skip


_facts = st.lists(st.tuples(st.integers(1, len(_STACKS)), st.integers(1, 1000)), min_size=1, max_size=12)
_profiles = st.lists(
    st.tuples(
        st.integers(0, 4), st.sampled_from((7, 14, 1_000_003, 7_000_000_001)), _facts, st.integers(0, 3)
    ),
    min_size=1,
    max_size=12,
)


@given(profiles=_profiles, chunk=st.integers(1, 40), widest=st.sampled_from((1, 1000, 1 << 22)))
def test_pairs_are_those_of_a_loop(profiles: list[Any], chunk: int, widest: int) -> None:
    """However the facts are cut and large, each (member, function) comes out once, by cell, function and member."""
    cell = np.array([each[3] for each in profiles], np.int64)
    batch = _batch([each[:3] for each in profiles])
    of = visit_sums.members(batch, cell, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visit_sums, "_CHUNK", chunk)
        patch.setattr(visit_sums, "_WIDEST", widest)
        found = visit_sums.pairs_of_facts(batch, of, _stack_functions())
    own: Counter[tuple[int, int, int]] = Counter()
    total: Counter[tuple[int, int, int]] = Counter()
    for number, (_, period, facts, in_cell) in enumerate(profiles):
        member = int(of.of_profile[number])
        units = period // int(of.divisor[member])
        for stack, samples in facts:
            functions = _STACKS[stack - 1]
            for function in set(functions):
                total[in_cell, function, member] += samples * units
            if functions:
                own[in_cell, functions[-1], member] += samples * units
    listed = visit_sums.lists(of, found)
    columns = (of.cell[listed.visit], listed.function, listed.visit, listed.own, listed.total)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == [(*key, own[key], total[key]) for key in sorted(total)]


@given(profiles=_profiles, data=st.data())
def test_pairs_of_larger_cells_are_those_of_their_facts(profiles: list[Any], data: st.DataObject) -> None:
    """Merged from finer cells' pairs, or from facts: the same."""
    cell = np.array([each[3] for each in profiles], np.int64)
    larger = np.array(data.draw(st.lists(st.integers(0, 1), min_size=4, max_size=4)), np.int64)[cell]
    batch, held = _batch([each[:3] for each in profiles]), _stack_functions()
    fine, coarse = visit_sums.members(batch, cell, 4), visit_sums.members(batch, larger, 2)
    onto = np.zeros(len(fine), np.int64)
    onto[fine.of_profile] = coarse.of_profile
    merged = visit_sums.lists(coarse, visit_sums.pairs_of_facts(batch, fine, held).of(onto))
    direct = visit_sums.lists(coarse, visit_sums.pairs_of_facts(batch, coarse, held))
    for name in ("visit", "function", "own", "total"):
        assert getattr(merged, name).tolist() == getattr(direct, name).tolist()
