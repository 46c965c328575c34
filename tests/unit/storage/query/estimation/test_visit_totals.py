"""Sums by row and visit against a dictionary."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import ranges, sorting
from storage.query.estimation import visit_totals

facts = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 5), st.integers(1, 9)), max_size=30)


def as_dictionary(found: visit_totals.PerVisit) -> dict[tuple[int, int], int]:
    pairs = list(zip(found.row.tolist(), found.visit.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    return dict(zip(pairs, found.units.tolist(), strict=True))


@pytest.mark.parametrize("dense", [0, 1_000])
@given(facts=facts)
def test_pairs_add_up(facts: list[tuple[int, int, int]], dense: int):
    expected: Counter = Counter()
    for row, visit, units in facts:
        if row >= 0:
            expected[row, visit] += units
    columns = [np.array(column, np.int64) for column in zip(*facts, strict=True)] or [
        np.zeros(0, np.int64)
    ] * 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visit_totals, "_DENSE", dense)
        found = visit_totals.of_pairs(*columns, rows=4, visits=6)
    assert as_dictionary(found) == expected
    assert found.visits.tolist() == [sum(row == r for row, _ in expected) for r in range(4)]
    machine = np.array([0, 0, 1, 1, 2, 2])
    machines = [len({int(machine[v]) for row, v in expected if row == r}) for r in range(4)]
    assert found.machines(machine).tolist() == machines


@pytest.mark.parametrize("dense", [0, 1_000])
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 2**57)), min_size=1, max_size=30),
    st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3), max_size=4),
    st.sampled_from([1, 4, 64]),
    st.sampled_from([1, 5, 1000]),
)
def test_slices_add_up(
    dense: int, facts: list[tuple[int, int]], rows: list[list[tuple[int, int]]], block: int, at_once: int
):
    bounded = [[tuple(sorted(min(n, len(facts)) for n in part)) for part in row] for row in rows]
    first = np.cumsum([0, *map(len, bounded)])
    starts, ends = (np.array([part[i] for row in bounded for part in row], np.int64) for i in (0, 1))
    visit, units = (np.array(column, np.int64) for column in zip(*facts, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_DENSE", dense), ("_BLOCK", block), ("_AT_ONCE", at_once)):
            patch.setattr(visit_totals, name, value)
        found = visit_totals.of_slices(first, starts, ends, visit, units, visits=3)
    expected: Counter = Counter()
    for number, row in enumerate(bounded):
        for low, high in row:
            for v, u in facts[low:high]:
                expected[number, v] += u
    assert as_dictionary(found) == expected


def test_many_slices_with_whole_blocks_take_memory_of_a_few(monkeypatch: pytest.MonkeyPatch):
    visits, slices, rows = 64, 20_000, 2
    monkeypatch.setattr(visit_totals, "_DENSE", 4_096)
    monkeypatch.setattr(visit_totals, "_AT_ONCE", 1_000)
    checked: list[None] = []
    monkeypatch.setattr(visit_totals.query_budget, "checkpoint", lambda: checked.append(None))
    first = np.array([0, slices // 4, slices])
    starts = np.zeros(slices, np.int64)
    starts[::2] = visits
    facts = np.arange(3 * visits)
    tracemalloc.start()
    try:
        found = visit_totals.of_slices(
            first, starts, starts + 2 * visits, facts % visits, facts // visits + 1, visits=visits
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    expected = {(r, v): n * ((1 + 2) + (2 + 3)) for r, n in enumerate((2_500, 7_500)) for v in range(visits)}
    assert as_dictionary(found) == expected
    assert found.rows == rows
    assert peak < slices * visits * 8, "less than one table of all slices by visit"
    assert len(checked) >= slices * visits // 4_096, "it can be called off between pieces"


@given(st.lists(st.integers(0, 2**62), max_size=30))
def test_sorting_is_stable(keys: list[int]):
    assert sorting(np.array(keys, np.int64)).tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=10))
def test_ranges_are_written_out(parts: list[tuple[int, int]]):
    starts = np.array([start for start, _ in parts], np.int64)
    found = ranges(starts, starts + np.array([length for _, length in parts], np.int64))
    assert found.tolist() == [n for start, length in parts for n in range(start, start + length)]
